"""A page's controls, declared as data, and its event handlers, which take values by name.

    controls = Controls(
        Control("data", "Data", gr.Dropdown),
        Control("split", "Split", gr.Radio, default="all"),
    )
    with gr.Row():
        controls.render("data", "split")
    on(controls["data"].input, show, controls, [table], notice)

A handler is given the values by their names in the address, and returns its changes as
{component: value}. A user error appears in the notice, and the rest of the page stays as it is.

Many events share a notice: of a person, of the page as it opens, of a run that moves. What a person
does empties what they saw there. What happens by itself empties only an error of an event that was
to fill the same components. What checks a control as it changes leaves what was said of the same
value: Gradio sends it late, where the check before it takes time and a button is pressed meanwhile.
So nothing is lost, in whichever order the answers come.
"""

import functools
import inspect
import itertools
import json
import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from html import escape
from types import SimpleNamespace
from typing import Any

import gradio as gr
from gradio.context import Context

from theodolite.app.web import address, parts
from theodolite.engine.errors import UserError
from theodolite.store.errors import StoreGone

Values = SimpleNamespace
"""Values of a page's controls, by name."""
Answer = Mapping[Any, Any] | None
"""Component -> its new value or `gr.update(…)`; components not named stay as they are.
None: nothing has happened, and the notice stays as well."""
MAX_EVENT_TEXT = 5000
_EVENT_HINT = "Load the page again, and press the button there."


@dataclass(frozen=True)
class Control:
    """One control of a page.

    Attributes:
        name: name of its value among those that a handler is given.
        label: label above the component.
        box: class of the Gradio component.
        default: value while the address has none; not written to the address.
        hint: one line of help beside it.
        choices: the choices, where they do not depend on the workspace.
        options: arguments of the component, such as `min_width`.
        key: its name in the address, where it differs from `name`; controls may share one.
        most: lines of a text that the page takes, and characters of each; None for any number.
    """

    name: str
    label: str
    box: Callable[..., Any] = gr.Textbox
    default: Any = None
    hint: str | None = None
    choices: Sequence[Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    most: tuple[int, int] | None = None

    def component(self, **options: Any) -> Any:
        """Make the component, placed in the layout where this is called."""
        value = list(self.default) if isinstance(self.default, tuple) else self.default
        given: dict[str, Any] = {"label": self.label, "elem_id": self.name, "value": value}
        if self.hint:
            given["info"] = self.hint
        if self.choices is not None:
            given["choices"] = list(self.choices)
        return self.box(**(given | dict(self.options) | options))

    def allowed(self) -> list[Any]:
        """The values among `choices`, which may be (label, value)."""
        return [c[1] if isinstance(c, tuple) else c for c in self.choices or ()]


class Controls(Mapping[str, Any]):
    """The controls of a page by name, as components once they are rendered."""

    def __init__(self, *declared: Control) -> None:
        self.declared = {control.name: control for control in declared}
        self._components: dict[str, Any] = {}

    def render(self, *names: str, **options: Any) -> Any:
        """Place controls in this order; return the component of the last."""
        for name in names:
            self._components[name] = self.declared[name].component(**options)
        return self._components[names[-1]]

    def add(self, name: str, component: Any) -> Any:
        """Add a component that several pages share, under its name in the address."""
        self._components[name] = component
        return component

    def __getitem__(self, name: str) -> Any:
        return self._components[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._components)

    def __len__(self) -> int:
        return len(self._components)

    def from_address(self, request: gr.Request) -> SimpleNamespace:
        """Read each declared control's value from the address, else its default."""
        return SimpleNamespace(
            **{name: _read(request, control) for name, control in self.declared.items()}
        )

    def keep(self, *opens: str) -> None:
        """Write the values to the address whenever one changes, except defaults and `gr.State`.

        Args:
            *opens: controls of what is opened: for a person that is a step of the history.
        """
        keys = {name: control.key or name for name, control in self.declared.items()}
        defaults = {
            keys[name]: control.default
            for name, control in self.declared.items()
            if control.default not in (None, "", [], ())
        }
        limits = {
            keys[name]: [control.options.get(end) for end in ("minimum", "maximum")]
            for name, control in self.declared.items()
            if control.box is gr.Number
        }
        limits |= {keys[n]: list(one.most) for n, one in self.declared.items() if one.most}
        boxes = {n: box for n, box in self._components.items() if not isinstance(box, gr.State)}
        gr.on(
            [box.change for box in boxes.values()],
            fn=None,
            inputs=list(boxes.values()),
            js=address.writer([keys.get(name, name) for name in boxes], defaults, limits, opens),
        )


class PageEvent(gr.EventData):
    """The data of an event of our own HTML, for a handler in place of `gr.EventData`.

    An event can be sent without its page: its data may lack fields that the page would send, or
    have other types.

    Reading a field that is missing, or of another type, raises a UserError.
    """

    @property
    def act(self) -> str:
        """The action."""
        return self.text("act")

    @property
    def id(self) -> str:
        """The id of the item it applies to."""
        return self.text("id")

    def text(self, name: str) -> str:
        """A text field."""
        value = self._value(name)
        if not isinstance(value, str) or len(value) > MAX_EVENT_TEXT:
            raise UserError(f"Invalid event field {name!r}.", _EVENT_HINT)
        return value

    def one_of(self, name: str, values: Container[str]) -> str:
        """A text field that has one of these values."""
        value = self.text(name)
        if value not in values:
            raise UserError(f"Invalid event field {name!r}.", _EVENT_HINT)
        return value

    def number(self, name: str) -> int:
        """A non-negative integer field; a text of digits is accepted."""
        value = self._value(name)
        text = str(value) if isinstance(value, int | str) else ""
        if not (text.isascii() and text.isdecimal() and len(text) <= 15):
            raise UserError(f"Invalid event field {name!r}.", _EVENT_HINT)
        return int(text)

    def _value(self, name: str) -> Any:
        return self._data.get(name) if isinstance(self._data, dict) else None


def on(
    events: Any,
    handler: Callable[..., Any],
    inputs: Mapping[str, Any] | Sequence[Any] | None,
    outputs: Iterable[Any],
    notice: Any,
    *,
    answers: Iterable[Any] | None = None,
    **options: Any,
) -> Any:
    """Register a handler of events.

    Args:
        events: one event of a component (`box.input`, `answered.then`), or a list of them.
        handler: takes the values of named components, such as `Controls`, as one namespace, or
            those of a list as separate arguments; may be a generator.
        inputs: components whose values the handler takes.
        outputs: every component that it may change.
        notice: component which shows an error.
        answers: those outputs that another event fills later; None for all.
        **options: for Gradio, such as `parts.ALWAYS_LAST`.

    Returns:
        The Gradio dependency, for `.then`.
    """
    by_name = list(inputs) if isinstance(inputs, Mapping) else None
    values = inputs.values() if isinstance(inputs, Mapping) else inputs or ()
    listed, places = [notice, *values], [*outputs, notice]
    names = {
        getattr(getattr(event, "func", event), "event_name", "")  # `change`, `then`
        for event in (events if isinstance(events, list) else [events])
    }
    fills = frozenset(places[:-1] if answers is None else answers)
    wrapped = with_notice(
        handler,
        notice,
        by_name,
        fills,
        reads=listed[1:],
        is_next=names == {"then"},
        is_check=names == {"change"},
    )
    if isinstance(events, list):
        return gr.on(events, wrapped, listed, places, **options)
    return events(wrapped, listed, places, **options)


def settled(boxes: Iterable[Any]) -> Any:
    """The event of controls of which several change at the same moment, as when a form is filled.

    Returns:
        For `on`, in place of their `change`: happens once they have come to rest.
    """
    count = gr.HTML(elem_classes=["t-settled"])
    gr.on([box.change for box in boxes], None, None, count, js="theodolite.settled")
    return count.change


def on_load(handler: Callable[[gr.Request], Answer], outputs: Iterable[Any], notice: Any) -> Any:
    """Register a handler which fills controls when the page being built is opened.

    A control whose initial value is right already is not updated: somebody may have changed it.

    Returns:
        The Gradio dependency, for `.then`.
    """
    return on_open(handler, lambda *_: (), {}, outputs, notice)


def on_open(
    load: Callable[[gr.Request], Answer],
    show: Callable[[Values, gr.Request], Iterable[Answer]],
    asks: Mapping[str, Any],
    outputs: Iterable[Any],
    notice: Any,
    **options: Any,
) -> Any:
    """Fill the controls when the page being built is opened, and answer them in the same event.

    The answer need not wait until the browser has filled the controls and sent a second event.
    Where people type at once, as into a query, use `on_load` to fill and its `then` to answer: that
    reads what they typed meanwhile.

    The primary buttons built so far wait for either: pressed before, they would send empty
    controls.

    Args:
        load: as the handler of `on_load`.
        show: takes the values of the filled controls, and the request.
        asks: the controls by name.
        outputs: every other component that may change.
        notice: component which shows an error.
        **options: for Gradio.

    Returns:
        The Gradio dependency, for `.then`.
    """
    app = Context.root_block
    if app is None:
        raise ValueError("a page is opened that is being built")
    ready = _wait(app)

    def fill(request: gr.Request) -> Iterator[Answer]:
        try:
            updates = load(request) or {}
        except Exception:
            yield ready
            raise
        yield ready | {box: parts.left(box, value) for box, value in updates.items()}
        values = {name: _value(updates.get(box, gr.skip()), box) for name, box in asks.items()}
        yield from show(Values(**values), request)

    answers = [*outputs]
    places = dict.fromkeys([*asks.values(), *answers, *ready])
    options = parts.HIDE_PROGRESS | options
    return on(app.load, fill, None, places, notice, answers=answers, **options)


def _wait(app: gr.Blocks) -> dict[Any, Any]:
    """Disable the page's primary buttons built so far; return the changes that enable them."""
    ready = {}
    for box in app.blocks.values():
        is_primary = isinstance(box, gr.Button) and box.variant == "primary"
        if is_primary and box.page == app.current_page:
            box.interactive, ready[box] = False, gr.update(interactive=True)
    return ready


def shape(handler: Callable[..., Mapping[Any, Any]], choices: Mapping[Any, Iterable[Any]]) -> None:
    """Update components in the browser, the moment some controls change.

    The browser gets a table of the handler's updates for every combination of values: an answer
    from the server would close a list that has just been opened, or arrive after a newer one.

    Args:
        handler: takes a value of each control, returns {component: update}, always for the same
            components.
        choices: control -> every value it can have.
    """
    combinations = list(itertools.product(*choices.values()))
    answers = [handler(*values) for values in combinations]
    outputs = list(answers[0])
    table = {
        json.dumps(values, separators=(",", ":")): [answer[box] for box in outputs]
        for values, answer in zip(combinations, answers, strict=True)
    }
    gr.on(
        [control.change for control in choices],
        fn=None,
        inputs=list(choices),
        outputs=outputs,
        js=f"(...values) => ({json.dumps(table)})[JSON.stringify(values)] ?? []",
    )


def poll(
    seconds: float,
    opened: Any,
    handler: Callable[..., Answer],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
) -> None:
    """Poll at an interval, once the page has been filled.

    An earlier poll would ask on behalf of an empty page, and its answer could empty the page again.
    Polling ends with a warning when the store is gone.

    Args:
        seconds: interval between two polls.
        opened: the dependency that `on_load` returned.
        handler: returns the changes, None when there are none.
        inputs: components whose values it takes.
        outputs: every component that it may change.
    """
    timer = gr.Timer(seconds, active=False)
    opened.then(None, None, timer, js="() => ({ __type__: 'update', active: true })")

    @functools.wraps(handler)
    def refresh(*args: Any) -> dict[Any, Any]:
        try:
            return {timer: gr.skip()} | dict(handler(*args) or {})
        except StoreGone as error:  # warn once and stop: the next poll would fail too
            gr.Warning(escape(str(error)), duration=None)
            return {timer: gr.Timer(active=False)}

    timer.tick(refresh, inputs, [*outputs, timer], **parts.HIDE_PROGRESS)


_MOST_NOTICES = 10_000
_said: dict[tuple[str | None, Any], tuple[Set[Any], str, Mapping[Any, int]]] = {}
"""(session of a tab, notice) -> what an event said there: the components that it was to fill, the
words, and hashes of the values that it read."""


@dataclass
class _Call:
    """One call of a handler, and what becomes of the notice.

    Attributes:
        notice: the notice.
        session: the tab.
        fills: the components that the handler fills.
        seen: what the notice showed when a person caused the event; None if nobody did.
        read: component -> a hash of its value.
        is_check: whether it is called as a control changes.
    """

    notice: Any
    session: str | None
    fills: Set[Any]
    seen: Any
    read: Mapping[Any, int]
    is_check: bool
    _mine = ""

    def answered(self, answer: Answer, *, failed: bool = False) -> dict[Any, Any]:
        """The changes of an answer, with that of the notice if there is one."""
        place, fills = (self.session, self.notice), self.fills
        changes = {at: parts.encodable(value) for at, value in (answer or {}).items()}
        of, standing, about = _said.get(place, (frozenset(), "", {}))
        is_over = self.seen and standing in ("", self.seen)
        both = about.keys() & self.read.keys() if self.is_check else ()
        if both and self.seen is not None:
            is_over = is_over and any(about[box] != self.read[box] for box in both)
        else:
            is_over = is_over or bool(of & fills)
        if answer is not None and is_over and not (self._mine and standing == self._mine):
            changes = {self.notice: "", **changes}
        if self.notice in changes:
            self._mine = changes[self.notice]
            _said.pop(place, None)
            if self._mine:
                of = fills if failed or self.seen is None else frozenset()
                _said[place] = of, self._mine, self.read
            while len(_said) > _MOST_NOTICES:
                del _said[next(iter(_said))]
        return changes or {self.notice: gr.skip()}


def with_notice(
    handler: Callable[..., Any],
    notice: Any,
    by_name: Sequence[str] | None = None,
    fills: Set[Any] = frozenset(),
    *,
    reads: Sequence[Any] = (),
    is_next: bool = False,
    is_check: bool = False,
) -> Callable[..., Any]:
    """Wrap a handler so that its errors are shown in the notice.

    Args:
        handler: as for `on`.
        notice: component which shows an error.
        by_name: names of the values that the handler takes as one namespace.
        fills: the components that it fills.
        reads: the components whose values it takes.
        is_next: whether it is called because another handler has ended.
        is_check: whether it is called as a control changes.

    Returns:
        A handler that takes the request, the event, what the notice showed when the event was sent,
        and the values.
    """

    def given(args: Sequence[Any]) -> Sequence[Any]:
        if by_name is None:
            return args
        values = SimpleNamespace(**dict(zip(by_name, args, strict=False)))
        return [values, *args[len(by_name) :]]  # a request or an event comes last

    def follow(
        request: gr.Request, event: gr.EventData, seen: Any, *args: Any
    ) -> Iterator[dict[Any, Any]]:
        by_itself = is_next or _happens_by_itself(event.target)
        read = {box: hash(repr(value)) for box, value in zip(reads, args, strict=False)}
        caused = None if by_itself else seen or ""
        call = _Call(notice, request.session_hash, fills, caused, read, is_check)
        try:
            answers = handler(*given(args))
            for answer in answers if inspect.isgenerator(answers) else [answers]:
                yield call.answered(answer)
        except Exception as error:
            yield call.answered({notice: parts.caught(handler, error)}, failed=True)

    def once(*args: Any) -> dict[Any, Any]:
        return next(follow(*args))

    return _as(handler, follow if inspect.isgeneratorfunction(handler) else once, by_name)


def _happens_by_itself(target: Any) -> bool:
    """Whether no person causes the events of a component: a timer, a state, the page (None)."""
    own = target is None or isinstance(target, gr.Timer | gr.State)
    return own or target.visible == "hidden"


def _as(
    handler: Callable[..., Any], wrapped: Callable[..., Any], by_name: Sequence[str] | None
) -> Callable[..., Any]:
    """Give the wrapper the handler's name and the signature that Gradio inspects.

    Gradio passes a `gr.Request` or an event by the annotations of the parameters; named controls
    count as one parameter each.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = list(inspect.signature(handler, eval_str=True).parameters.values())
    if by_name is not None:
        own = [*(inspect.Parameter(f"_{name}", kind) for name in by_name), *own[1:]]
    first = {"of": gr.Request, "event": gr.EventData, "seen": inspect.Parameter.empty}
    own = [*(inspect.Parameter(f"__{n}", kind, annotation=of) for n, of in first.items()), *own]
    wrapped.__name__ = getattr(handler, "__name__", "handler")
    wrapped.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {
        parameter.name: parameter.annotation
        for parameter in own
        if parameter.annotation is not inspect.Parameter.empty
    }
    return wrapped


def _read(request: gr.Request, control: Control) -> Any:
    """Read a control's value from the address; the default where it is missing or invalid."""
    key = control.key or control.name
    if isinstance(control.default, list | tuple):
        texts = address.every(request, key)
        allowed = control.allowed()
        valid = [value for value in texts if value in allowed] if allowed else texts
        return valid or list(control.default)
    text = address.first(request, key)
    if not text:
        return control.default
    if control.choices:
        return next((v for v in control.allowed() if str(v) == text), control.default)
    if isinstance(control.default, bool):
        return text.casefold() in ("true", "1", "yes")
    if control.box is gr.Number or isinstance(control.default, int | float):
        return _number(text, control)
    return text


def _number(text: str, control: Control) -> float | None:
    """Parse a number within the control's limits, as an int where it is a whole one."""
    number, options = address.number(text), control.options
    low, high = options.get("minimum", -math.inf), options.get("maximum", math.inf)
    if number is None or not low <= number <= high:
        return control.default
    whole = options.get("precision") == 0 or isinstance(control.default, int)
    return int(number) if whole else number


def _value(updates: Any, box: Any) -> Any:
    """The value of a control after it is filled with a value or an update."""
    if isinstance(updates, dict) and updates.get("__type__") == "update":
        return updates.get("value", box.value)
    return updates
