"""Calls of the component `mcp-listen:core`, by the names in wit/."""

from wasmtime import Engine, Store
from wasmtime.component import Component, Linker, Record, Variant


class Core:
    """One instance of the component, for one thread. It needs no imports: the linker is empty."""

    def __init__(self, path):
        engine = Engine()
        self._store = Store(engine)
        component = Component.from_file(engine, path)
        self._instance = Linker(engine).instantiate(self._store, component)
        self._functions = {}

    def call(self, interface, function, *arguments):
        """Calls `exchange`, `[method]exchange.poll`, say, and raises `CoreError` for an error."""
        call = self._functions.get((interface, function))
        if call is None:
            call = self._functions[interface, function] = self._function(interface, function)
        return _value(call(self._store, *arguments))

    def drop(self, *resources):
        """Frees resources; those that were passed to a call belong to the component."""
        for resource in resources:
            resource.drop(self._store)

    def _function(self, interface, function):
        name = f"mcp-listen:core/{interface}@0.2.0"
        outer = self._instance.get_export_index(self._store, name)
        inner = self._instance.get_export_index(self._store, function, outer)
        return self._instance.get_func(self._store, inner)


class CoreError(Exception):
    """An `error` of the component."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def record(**members):
    """A record; `-` in a name is `_` here."""
    made = Record()
    for name, value in members.items():
        setattr(made, name.replace("_", "-"), value)
    return made


def _value(result):
    """Returns what a call that may fail returned, or raises its error."""
    if isinstance(result, Variant) and result.tag in ("ok", "err"):
        result = result.payload
    if isinstance(result, Record) and vars(result).keys() == {"code", "message"}:
        raise CoreError(result.code, result.message)
    return result
