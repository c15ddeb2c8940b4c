"""
Plays requests on the component, with wasmtime: a line of JSON in for each, one out for its response
(host.ts).
"""

import base64
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).parents[3]
sys.path.append(str(ROOT / "examples" / "python-component"))

from component import Core, Record, record

core = Core(str(ROOT / ".build" / "component" / "mcp-listen.wasm"))


def played(play):
    options = record(
        origins=play["origins"],
        hosts=play["hosts"],
        limits=play["limits"],
        holds_streams=True,
        legacy=play["legacy"],
    )
    service = core.call("exchange", "[static]service.create", options)
    headers = [tuple(field) for field in play["headers"]]
    exchange = core.call(
        "exchange", "[method]service.begin", service, play["method"], play["url"], headers, True
    )

    def call(name, *arguments):
        return core.call("exchange", f"[method]exchange.{name}", exchange, *arguments)

    response = steps(play, call)
    core.drop(exchange, service)
    return response


def steps(play, call):
    while True:
        step = call("poll")
        if isinstance(step, Record):
            return responded(call("fields"), step)
        if step is None and isinstance(play["caller"], dict):
            return responded(call("fields"), call("refuse", play["caller"]["refused"]))
        if step is None:
            call("handle-caller", play["caller"])
        elif isinstance(step, bool):
            return {"status": None, "headers": call("fields"), "text": ""}
        elif isinstance(step, int):
            call("handle-body", base64.b64decode(play["body"])[: step + 1])
        else:
            return {"status": 200, "headers": call("fields"), "text": opened(play, call)}


def responded(fields, response):
    kind = [] if response.body is None else [("content-type", "application/json")]
    return {"status": response.status, "headers": fields + kind, "text": response.body or ""}


def opened(play, call):
    discovered = core.call("exchange", "[static]discovered.declared", play["capabilities"], None)
    stream = call("open", discovered, record(allowed=None, scope=None, keep_alive=15_000), 0)
    fanout = core.call("fanout", "[constructor]fanout")
    hold = record(stall_after=0, authorization_ttl=0, retires_at=None, expires_at=None)
    number = core.call("fanout", "[method]fanout.open", fanout, stream, hold, 0)
    text = core.call("fanout", "[method]fanout.poll", fanout, number, 0)
    core.drop(fanout, discovered)
    return text or ""


for line in sys.stdin:
    print(json.dumps(played(json.loads(line))), flush=True)
