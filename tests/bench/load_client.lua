-- Sends the requests of a file in rotation (one a line: method, path, authorization, body, by tabs) and tells in one
-- line what came of it: answers, seconds, microseconds of the median and of the 99th percentile, bad answers.
local requests, at = {}, 0

function init(args)
  for line in io.lines(args[1]) do
    local method, path, authorization, body = line:match("^(.-)\t(.-)\t(.-)\t(.*)$")
    local headers = { ["Content-Type"] = "application/json" }
    if authorization ~= "" then headers["Authorization"] = authorization end
    requests[#requests + 1] = wrk.format(method, path, headers, body ~= "" and body or nil)
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency, _)
  local e = summary.errors
  io.write(string.format("RESULT %d %f %f %f %d\n", summary.requests, summary.duration / 1e6, latency:percentile(50),
    latency:percentile(99), e.status + e.connect + e.read + e.write + e.timeout))
end
