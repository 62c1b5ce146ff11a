"""JSON Schemas of what RPC methods declare: their arguments and their results.

Owns: the translation. Never: which methods there are, HTTP.
"""

from collections.abc import Sequence
from typing import Any

from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType

Schema = dict[str, Any]

_RESULT_LEAVES: dict[ResultType, Schema] = {
    ResultType.STR: {"type": "string"},
    ResultType.STR_HEX: {"type": "string", "pattern": "^[0-9a-f]*$"},
    ResultType.STR_AMOUNT: {"type": "number"},
    ResultType.NUM: {"type": "number"},
    ResultType.NUM_TIME: {"type": "integer"},
    ResultType.BOOL: {"type": "boolean"},
    ResultType.NONE: {"type": "null"},
    ResultType.ANY: {},
}

_ARG_LEAVES: dict[ArgType, Schema] = {
    ArgType.STR: {"type": "string"},
    ArgType.STR_HEX: {"type": "string"},
    ArgType.NUM: {"type": "number"},
    ArgType.BOOL: {"type": "boolean"},
    ArgType.AMOUNT: {"type": ["number", "string"]},
    ArgType.RANGE: {"type": ["number", "array"]},
}


def results_schema(results: Sequence[Result]) -> Schema:
    """Return the schema of a method's result; where it declares several, of any of them."""
    schemas = [result_schema(result) for result in results]
    for schema, result in zip(schemas, results, strict=True):
        if result.condition:
            schema["title"] = result.condition
    return schemas[0] if len(schemas) == 1 else any_of(schemas)


def result_schema(result: Result) -> Schema:
    """Return the schema of one result or member; an object has exactly the members that it declares."""
    if result.type is ResultType.ARR:
        schema: Schema = {"type": "array"}
        if result.inner:
            schema["items"] = any_of([result_schema(inner) for inner in result.inner])
    elif result.type is ResultType.OBJ_DYN:
        schema = {"type": "object", "additionalProperties": any_of([result_schema(inner) for inner in result.inner])}
    elif result.type is ResultType.OBJ:
        schema = {"type": "object"}
        if result.inner:
            schema["properties"] = {member.key: result_schema(member) for member in result.inner}
            schema["required"] = [member.key for member in result.inner if not member.optional]
            schema["additionalProperties"] = False
    else:
        schema = dict(_RESULT_LEAVES[result.type])
    return _described(schema, result.description)


def any_of(schemas: list[Schema]) -> Schema:
    """Return a schema that fits what one of `schemas` fits; anything where there is none."""
    different = [schema for number, schema in enumerate(schemas) if schema not in schemas[:number]]
    if not different:
        return {}
    return different[0] if len(different) == 1 else {"anyOf": different}


def arg_schema(arg: Arg) -> Schema:
    """Return the schema of an argument; one that may be left out may be null too."""
    schema = _arg_type(arg)
    if not arg.required and schema:
        schema = {"anyOf": [schema, {"type": "null"}]}
        if arg.default is not None:
            schema["default"] = arg.default
    return _described(schema, arg.description)


def _arg_type(arg: Arg) -> Schema:
    if arg.unchecked:
        return {}
    if arg.type is ArgType.ARR:
        return {"type": "array", "items": any_of([_arg_type(inner) for inner in arg.inner])}
    if arg.type is ArgType.OBJ_USER_KEYS:
        return {"type": "object", "additionalProperties": any_of([_arg_type(inner) for inner in arg.inner])}
    if arg.type in (ArgType.OBJ, ArgType.OBJ_NAMED_PARAMS):
        return {
            "type": "object",
            "properties": {inner.name: arg_schema(inner) for inner in arg.inner},
            "required": [inner.name for inner in arg.inner if inner.required],
        }
    return dict(_ARG_LEAVES[arg.type])


def _described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description} if description else schema
