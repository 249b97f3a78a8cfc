-- wrk's requests. Arguments: a list of files with releases to post; or "get", a path, and a range of its bytes.
local requests, at = {}, 0

function init(arguments)
    if arguments[1] == "get" then
        requests[1] = wrk.format("GET", arguments[2], { ["Range"] = arguments[3] })
    else
        local list = assert(io.open(arguments[1]))
        for name in list:lines() do
            local file = assert(io.open(name, "rb"))
            requests[#requests + 1] = wrk.format("POST", "/v1/query", { ["Content-Type"] = "application/cbor" },
                file:read("*a"))
            file:close()
        end
        list:close()
    end
end

function request()
    at = at % #requests + 1
    return requests[at]
end
