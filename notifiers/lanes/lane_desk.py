"""What the operator may ask of lanes: how they do, to pause, to resume, and what they gave up.

Owns: the questions and their answers as plain values. Never: delivering; who may ask.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clarion.node.errors import StreamError
from clarion.notifiers.feed import Feed
from clarion.notifiers.lanes.delivery_lane import DeliveryLane

if TYPE_CHECKING:
    from clarion.node.storage.lane_store import DeadLetter
    from clarion.notifiers.lane import Lane

ACTIONS = ("list", "pause", "resume", "reset", "letters", "replay", "drop")
MAX_LETTERS = 1000


class LaneDesk:
    """Answers for all lanes of a process. Calls may come from any thread."""

    def __init__(self, lanes: Sequence[Lane | DeliveryLane], feed: Feed) -> None:
        self._lanes = {lane.notifier.name: lane for lane in lanes}
        self._feed = feed

    def ask(self, action: str, name: str = "", argument: str = "") -> Any:
        """Do one of ACTIONS with a lane and return its state, or what was asked for.

        `argument`: for `reset` where to go on from, for `replay` and `drop` an event's id or `all`. Raises StreamError
        `no-such-lane`, `bad-request`, and what a cursor may raise.
        """
        if action == "list":
            return [self.state_of(lane) for lane in self._lanes.values()]
        lane = self._lanes.get(name)
        if lane is None:
            there_are = ", ".join(self._lanes) or "none"
            raise StreamError("no-such-lane", f"there is no lane {name!r}; there are: {there_are}")
        if action in ("pause", "resume"):
            self._hold(lane, action)
        elif not isinstance(lane, DeliveryLane):
            raise StreamError("bad-request", f"{name} has no cursor of its own: it can be listed, paused and resumed")
        elif action == "reset":
            lane.reset(argument)
        elif action == "letters":
            return [_letter_json(letter) for letter in lane.letters(MAX_LETTERS)]
        else:
            return self._letters(lane, action, argument)
        return self.state_of(lane)

    def state_of(self, lane: Lane | DeliveryLane) -> dict[str, Any]:
        """Return one lane's state and counters; what does not apply is left out."""
        state, own = lane.state, isinstance(lane, DeliveryLane)
        lag_events, oldest = self._feed.behind(lane.position)
        values = {
            "name": lane.notifier.name,
            "type": "delivery" if own else "rows",
            "addresses": [item["address"] for item in lane.notifier.describe() if "address" in item],
            "state": state.word,
            "cursor": lane.cursor if isinstance(lane, DeliveryLane) else None,
            "seq": lane.position,
            "lag_events": lag_events,
            "lag_seconds": 0 if oldest is None else max(0, int(time.time()) - oldest),
            "queued": lane.queued if isinstance(lane, DeliveryLane) else 0,
            "sent": state.sent,
            "failed": state.failed,
            "retried": state.retried,
            "dead_letters": state.dead_letters,
            "last_sent_time": state.last_sent_at,
            "last_error": state.stopped or state.last_error,
            "next_try_in": state.retry_in_s,
        }
        return {name: value for name, value in values.items() if value is not None}

    @staticmethod
    def _hold(lane: Lane | DeliveryLane, action: str) -> None:
        if action == "resume":
            lane.resume()
        elif lane.notifier.awaited:
            raise StreamError("bad-request", f"{lane.notifier.name} can't be paused: calls of the node wait for it")
        else:
            lane.pause()

    @staticmethod
    def _letters(lane: DeliveryLane, action: str, argument: str) -> dict[str, int]:
        """Replay or drop one letter, or all; return how many are concerned."""
        if argument == "all":
            ids = [letter.id for letter in lane.letters(lane.state.dead_letters)]
        elif lane.has_letter(argument):
            ids = [argument]
        else:
            raise StreamError("bad-request", f"{lane.notifier.name} gave up no event {argument!r}")
        if action == "replay":
            lane.replay(ids)
        else:
            for each in ids:
                lane.drop_letter(each)
        return {"letters": len(ids)}


def _letter_json(letter: DeadLetter) -> dict[str, Any]:
    return {
        "id": letter.id,
        "type": letter.type,
        "time": letter.time,
        "cursor": letter.cursor,
        "attempts": letter.attempts,
        "error": letter.error,
        "failed_time": letter.failed_at,
    }
