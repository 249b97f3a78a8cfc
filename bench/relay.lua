-- What wrk sends for bench/relay.py: bundles of one message, each different, or the tickets of bundles that were sent.
--     wrk … -s relay.lua URL -- post PACK EPOCH BYTES | get COUNT COUNT… | plain BYTES
local threads = {}

function setup(thread)
    thread:set("id", #threads)
    table.insert(threads, thread)
end

local function ticket(number)
    return string.format("%08x%024x", id + 1, number)
end

local function bytes(hex)
    return (hex:gsub("..", function(pair) return string.char(tonumber(pair, 16)) end))
end

function init(arguments)
    mode, sent, taken, other = arguments[1], 0, 0, 0
    if mode == "post" then
        wrk.method, wrk.path = "POST", "/v1/pack/" .. arguments[2] .. "/bundle"
        wrk.headers["Content-Type"] = "application/x-privatemail-bundle"
        epoch = bytes(string.format("%016x", tonumber(arguments[3])))
        filler = string.rep("x", tonumber(arguments[4]) - 7 - 32)
    elseif mode == "get" then
        count = tonumber(arguments[2 + id]) -- the first that wrk asks for is never sent, the last may not have arrived
    else
        wrk.method = "POST"
        wrk.headers["Content-Type"] = "application/octet-stream"
        wrk.body = string.rep("x", tonumber(arguments[2]))
    end
end

function request()
    sent = sent + 1
    if mode == "post" then
        local name = ticket(sent)
        return wrk.format(nil, nil, nil, epoch .. bytes(name) .. "\0\0\32\0\1\0\3" .. name .. filler)
    elseif mode == "get" then
        return wrk.format("GET", "/v1/ticket/" .. ticket((sent - 1) % count + 2))
    end
    return wrk.format()
end

function response(status)
    if status == 200 or status == 201 then taken = taken + 1 else other = other + 1 end
end

function done(summary, latency)
    local parts = {}
    for _, thread in ipairs(threads) do
        table.insert(parts, string.format("%d %d %d", thread:get("sent"), thread:get("taken"), thread:get("other")))
    end
    print(string.format("RESULT %d %d %s", summary.duration, latency:percentile(99), table.concat(parts, " ")))
end
