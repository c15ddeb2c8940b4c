"""
The machines of the component back to back, with wasmtime: a bus, a shard and an isolate; streams
whose rights are renewed; a damaged shard; a client and the responses of the corpus; the messages of
the wire. `component_machines.py` with one of `MODES` ends with a traceback if one is wrong.
"""

import base64
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).parents[3]
sys.path.append(str(ROOT / "examples" / "python-component"))

from component import Core, CoreError, record

core = Core(str(ROOT / ".build" / "component" / "mcp-listen.wasm"))
EVENT = '{"kind":"resource_updated","uri":"note://a"}'
FILTER = {"toolsListChanged": True, "resourceSubscriptions": ["note://a", "note://b"]}


class Handle:
    """A resource, whose methods are those of Python."""

    def __init__(self, interface, kind, resource):
        self.call = lambda name, *given: core.call(
            interface, f"[method]{kind}.{name}", resource, *given
        )
        self.resource = resource


def make(interface, kind, *given, static="[constructor]" + "{}"):
    return Handle(interface, kind, core.call(interface, static.format(kind), *given))


def outputs_of(poll, *given):
    """Polls until there is no more."""
    while (output := poll(*given)) is not None:
        yield output


class Relay:
    """A bus of one shard, to which one isolate is connected; the log is a list."""

    def __init__(self):
        self.log, self.now, self.edge = [], 0, None
        self.bus = make("bus", "bus", record(epoch="log", position=0), 0)
        self.bus.call("set-room", 1 << 20, 100)
        self.bus.call("set-shards", 0, 0, 1)
        assert self.bus.call("route", "EU", 1, None) == 1
        entries = [entry.tag for entry in outputs_of(self.bus.call, "poll-entry")]
        assert "opened" in entries, entries
        self.shard = make("shard", "shard", 0, None, 60_000)
        self.shard.call("set-room", 1 << 20, 100)
        self.isolate = make("isolate", "isolate", 0, 3_000, 0)
        self.streams = Handle("fanout", "fanout", self.isolate.call("streams"))
        self.received = []

    def publish(self):
        published = self.bus.call("publish", [EVENT], self.now)
        self.log.append((published.position, EVENT))

    def pump(self):
        for call in outputs_of(self.isolate.call, "poll-call", self.now):
            if call.tag == "attach":
                self.edge = self.shard.call("connect")
            self.shard.call("handle-message", self.edge, call.payload, self.now)
        for call in outputs_of(self.shard.call, "poll-call", self.now):
            self.shard.call("handle-response", call.seq, self.follow(call.text), self.now, 0.5)
        for batch in outputs_of(self.bus.call, "poll-batch", self.now):
            ack = self.shard.call("handle-batch", batch.text, self.now)
            self.bus.call("handle-ack", batch.shard, batch.call, ack, self.now, 0.5)
        for output in outputs_of(self.shard.call, "poll-output"):
            if output.tag == "send" and self.edge in output.payload.edges:
                self.isolate.call("handle-message", output.payload.text, self.now)
        for output in outputs_of(self.isolate.call, "poll-output", self.now):
            self.take(output)

    def follow(self, text):
        """The response of the bus to its shard, completed from the log."""
        resource = self.bus.call("handle-follow", 1, text)
        reply = Handle("bus", "follow-reply", resource)
        after = reply.call("replay-after")
        for position, event in self.log:
            if after is not None and position > after:
                reply.call("push-event", self.bus.resource, position, event)
        (frame,) = self.bus.call("finish", resource)
        return frame

    def take(self, output):
        if output.tag == "write":
            self.received += [output.payload.chunks[write.chunk] for write in output.payload.writes]
        elif output.tag == "poll":
            for number in output.payload:
                self.received += outputs_of(self.streams.call, "poll", number, self.now)
        else:
            raise AssertionError(output.tag)

    def taken(self):
        received, self.received = "".join(self.received), []
        return received


def relay():
    world = Relay()
    number = world.streams.call("open", accepted(), HOLD, 0)
    assert getattr(world.streams.call("state", number), "is-opening")
    world.pump()
    world.pump()
    assert "acknowledged" in world.taken()
    world.publish()
    world.pump()
    assert world.taken().count("note://a") == 1
    # What is published while the connection is down arrives on the next one.
    world.isolate.call("handle-lost", "lost", world.now, 0.5)
    world.shard.call("disconnect", world.edge, world.now)
    world.publish()
    world.pump()
    world.now = 60_000
    world.isolate.call("handle-timeout", world.now, 0.5)
    world.pump()
    world.pump()
    received = world.taken()
    assert received.count("note://a") == 1 and "note://b" not in received, received
    counts = world.isolate.call("counts")
    assert (counts.outages, counts.healed) == (1, 1), vars(counts)


def renewals():
    """Renews the rights of a caller with a group, which keeps its stream while it is in it."""
    streams = make("fanout", "fanout")
    hold = record(stall_after=0, authorization_ttl=1_000, retires_at=None, expires_at=None)
    number = streams.call("open", accepted('{"groups":["red"]}'), hold, 0)
    assert "acknowledged" in "".join(outputs_of(streams.call, "poll", number, 0))
    event = '{"kind":"for_group","group":"red","event":{"kind":"tools_list_changed"}}'
    for now, groups in (1_000, ["red"]), (2_000, ["blue", "red"]), (3_000, ["blue"]):
        # Only the streams to poll name one whose rights are older: nothing is written to it.
        assert not streams.call("publish", [event], now).writes
        assert streams.call("handle-missed", [], now) == [number]
        assert streams.call("poll", number, now) is None
        asked = streams.call("poll-question", number)
        assert json.loads(asked) == FILTER
        streams.call("renew", number, asked, json.dumps({"groups": groups}), None, now)
        received = "".join(outputs_of(streams.call, "poll", number, now))
        assert ("tools/list_changed" in received) == ("red" in groups), received
    assert streams.call("remove", number) == "denied"


def damaged():
    """Restores a shard with a topic that cannot be read: the bus then refuses its calls."""
    bus = make("bus", "bus", record(epoch="log", position=9), 0)
    bus.call("set-shards", 0, 1, 1)
    opened = record(shard=1, continent="EU")
    try:
        bus.call("restore-shard", opened, 0, False, ["tools", "damaged"])
    except CoreError as error:
        assert error.code == "malformed-frame", error.code
    else:
        raise AssertionError("the shard was restored")
    (reply,) = bus.call("finish", bus.call("handle-follow", 1, messages("shard/follow")[0]["text"]))
    assert "unknown" in reply, reply


def accepted(scope=None):
    """The stream of a request that `client` has made."""
    watch = opened()
    request = watch.call("poll-action")
    options = record(origins=[], hosts=None, limits=None, holds_streams=True, legacy="stateless")
    service = make("exchange", "service", options, static="[static]{}.create")
    begin = service.call("begin", request.method, "http://localhost/mcp", request.headers, True)
    exchange = Handle("exchange", "exchange", begin)
    while not isinstance(step := exchange.call("poll"), str):
        if step is None:
            exchange.call("handle-caller", None)
        else:
            exchange.call("handle-body", request.body.encode())
    assert json.loads(step) == FILTER
    capabilities = json.dumps({"tools": {"listChanged": True}, "resources": {"subscribe": True}})
    declared = core.call("exchange", "[static]discovered.declared", capabilities, None)
    return exchange.call("open", declared, record(allowed=None, scope=scope, keep_alive=0), 0)


def opened():
    options = record(
        hint="modern",
        client_info=None,
        acknowledgment=30_000,
        silence=60_000,
        opens_again=False,
        seed=1,
    )
    return make("client", "watch", json.dumps(FILTER), options, 0, static="[static]{}.open")


def wire():
    """Passes each message of the wire to the machines that receive its kind."""
    for kind, read in READERS.items():
        for case in messages(kind):
            read(case["text"], case["reads"])


def messages(kind):
    """The messages of a kind, as the latest version of the wire writes them."""
    folder, name = kind.split("/")
    files = (ROOT / "wasm-tests/corpus/wire" / folder).glob(f"{name}.*.json")
    return json.loads(max(files, key=lambda file: int(file.name.split(".")[1])).read_text())


def read_edge_follow(text, reads):
    bus, shard = machines()
    edge = bus.call("connect")
    if not reads["isFresh"]:
        bus.call("handle-message", edge, messages("edge/follow")[0]["text"])
    received = bus.call("handle-message", edge, text)
    assert received.tag == "followed", received.tag
    frames = bus.call("finish", received.payload)
    assert [json.loads(frame)["seq"] for frame in frames] == [reads["seq"]]
    # A shard accepts the next follow after the reply to the first one.
    if reads["isFresh"]:
        # wasmtime returns the payload of a case, which is what to store.
        assert shard.call("handle-message", shard.call("connect"), text, 0).tag == "all"


def read_edge_detach(text, _reads):
    bus, shard = machines()
    assert bus.call("handle-message", bus.call("connect"), text).tag == "detached"
    assert shard.call("handle-message", shard.call("connect"), text, 0) is None


def read_edge_followed(text, reads):
    isolate, streams, number = attached()
    isolate.call("handle-message", text, 0)
    outputs = [output.tag for output in outputs_of(isolate.call, "poll-output", 0)]
    assert outputs == ["poll"] * (reads["seq"] == 1), outputs
    assert getattr(streams.call("state", number), "is-opening") == (reads["seq"] != 1)


def read_edge_batch(text, reads):
    isolate, streams, number = attached()
    isolate.call("handle-message", messages("edge/followed")[0]["text"], 0)
    assert [output.tag for output in outputs_of(isolate.call, "poll-output", 0)] == ["poll"]
    assert "acknowledged" in "".join(outputs_of(streams.call, "poll", number, 0))
    isolate.call("handle-message", text, 0)
    outputs = outputs_of(isolate.call, "poll-output", 0)
    written = [output.payload.chunks for output in outputs if output.tag == "write"]
    chunks = [chunk for each in written for chunk in each]
    changes = ["tools/list_changed" in chunk for chunk in chunks]
    assert changes == [True] * any(event == "tools" for _, event in reads["events"]), chunks


def read_shard_follow(text, reads):
    bus, _ = machines()
    (reply,) = bus.call("finish", bus.call("handle-follow", 1, text))
    assert json.loads(reply)["seq"] == reads["seq"]


def read_shard_batch(text, reads):
    _, shard = machines()
    ack = json.loads(shard.call("handle-batch", text, 0))
    assert ack.get("retired", False) == reads["isLast"]


def machines():
    """A bus that has opened a shard, and a shard."""
    bus = make("bus", "bus", record(epoch="log", position=9), 0)
    bus.call("set-room", 1 << 20, 100)
    bus.call("set-shards", 0, 0, 1)
    bus.call("route", "EU", 1, None)
    shard = make("shard", "shard", 0, None, 60_000)
    shard.call("set-room", 1 << 20, 100)
    return bus, shard


def attached():
    """An isolate with a stream, whose connection has been opened."""
    isolate = make("isolate", "isolate", 0, 3_000, 0)
    streams = Handle("fanout", "fanout", isolate.call("streams"))
    number = streams.call("open", accepted(), HOLD, 0)
    assert isolate.call("poll-call", 0).tag == "attach"
    return isolate, streams, number


def responses():
    """Plays the responses of servers, and compares what the client reports."""
    played = 0
    for file in sorted((ROOT / "wasm-tests/corpus/2026-07-28/server").glob("*/*.json")):
        for case in json.loads(file.read_text()):
            reported = report(case)
            expected = [REDIRECTED if end == REDIRECT else end for end in case["expect"]]
            assert reported == (expected, case.get("retryAfterMs")), (case["name"], reported)
            played += 1
    assert played > 50


def report(case):
    watch = opened()
    call = watch.call("poll-action").call
    headers = case.get("headers", [["Content-Type", "text/event-stream"]])
    watch.call("handle-head", call, case.get("status", 200), [tuple(field) for field in headers], 0)
    body = bytes_of(case["body"])
    reported = []
    for start in range(0, len(body), 4_099):
        watch.call("handle-body", call, body[start : start + 4_099], 0)
        reported += outputs_of(watch.call, "poll-output", 0)
    if "silentMs" in case:
        watch.call("handle-timeout", case["silentMs"])
    else:
        watch.call("handle-end", call, 0)
    reported += outputs_of(watch.call, "poll-output", 0)
    ends = [output.payload for output in reported if output.tag == "stopped"]
    wait = getattr(ends[-1], "retry-after") if ends else None
    core.drop(watch.resource)
    return [written(output) for output in reported], wait


def written(output):
    payload = output.payload
    if output.tag == "live":
        return {"acknowledged": json.loads(payload.honored)}
    if output.tag == "changed":
        return {"changed": json.loads(payload)}
    if payload.code == "graceful":
        return {"ended": "graceful"}
    if payload.code != "refused":
        return {"lost": payload.code}
    code = getattr(payload, "rpc-code")
    return {"refused": {"status": payload.status} | ({} if code is None else {"code": code})}


def bytes_of(body):
    """The bytes of a body of the corpus."""
    if isinstance(body, dict):
        return base64.b64decode(body["base64"])
    pieces = [body] if isinstance(body, str) else body
    return "".join(
        piece if isinstance(piece, str) else piece[0] * piece[1] for piece in pieces
    ).encode()


# The corpus is for one subscription. A watch does not follow a redirect, and reports why.
REDIRECT, REDIRECTED = {"refused": {"status": 302}}, {"lost": "redirected"}
HOLD = record(stall_after=0, authorization_ttl=0, retires_at=None, expires_at=None)
READERS = {
    "edge/follow": read_edge_follow,
    "edge/detach": read_edge_detach,
    "edge/followed": read_edge_followed,
    "edge/batch": read_edge_batch,
    "shard/follow": read_shard_follow,
    "shard/batch": read_shard_batch,
}
MODES = {
    "relay": relay,
    "renewals": renewals,
    "damaged": damaged,
    "responses": responses,
    "wire": wire,
}
MODES[sys.argv[1]]()
