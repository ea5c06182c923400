"""How a page is made: the session, its token, the templates, and the headers that protect it."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, quote

import jinja2
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tamis import __version__
from tamis.broker import Identity
from tamis.errors import AuthenticationError, TamisError
from tamis.server.handlers.arguments import service_of
from tamis.server.problems import document_of
from tamis.server.requests import CrossSiteError, read_body

if TYPE_CHECKING:
    from starlette.requests import Request

FOLDER = Path(__file__).parent
_FORM_BYTES = 2_000_000
PAGES = (
    ("/", "Overview"),
    ("/subscriptions", "Subscriptions"),
    ("/new", "New"),
    ("/publish", "Publish"),
    ("/overlay", "Overlay"),
    ("/keys", "Keys"),
    ("/docs", "API"),
)
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Visit(NamedTuple):
    """Who looks at a page: the session's token, and what the key allows."""

    identity: Identity
    token: str

    @property
    def roles(self) -> str:
        """The name of the key, and its roles."""
        return f"{self.identity.name}: {', '.join(sorted(self.identity.roles))}"


@functools.cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        version=__version__,
        pages=PAGES,
        marks={"true": "✓", "false": "✗", "unknown": "?", "failed": "!"},
    )
    return environment


def fragment(name: str, **context: Any) -> HTMLResponse:
    """A part of a page."""
    return HTMLResponse(_templates().get_template(name).render(**context), headers=HEADERS)


def page(
    name: str,
    request: Request,
    visit: Visit | None,
    *,
    status: int = 200,
    said: str = "",
    wrong: bool = False,
    **context: Any,
) -> HTMLResponse:
    """A page, with what every page has."""
    field = Markup('<input type="hidden" name="token" value="{}">')
    html = (
        _templates()
        .get_template(name)
        .render(
            session=visit,
            here=request.url.path,
            said=said,
            wrong=wrong,
            token=lambda: field.format(visit.token if visit else ""),
            **context,
        )
    )
    return HTMLResponse(html, status, HEADERS)


Handler = Callable[["Request", Visit], Awaitable[Response]]


def with_session(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """A page that needs a session; without one it leads to the login. Errors are pages, too."""

    @functools.wraps(handler)
    async def answer(request: Request) -> Response:
        visit = None
        try:
            visit = await visit_of(request)
            if visit is None:
                return RedirectResponse(f"/login?next={quote(request.url.path)}", 303)
            return await handler(request, visit)
        except TamisError as error:
            found = document_of(error)
            return page(
                "problem.html",
                request,
                visit,
                status=found["status"],
                title=found["title"],
                detail=found["detail"],
            )

    return answer


async def visit_of(request: Request) -> Visit | None:
    """The session of a request, if its key is still good."""
    service = service_of(request)
    session = service.sessions.of(request)
    if session is None:
        return None
    try:
        identity = await service.call(service.broker.identify_number, session.key)
    except AuthenticationError:
        return None
    service.rates.take(f"key {identity.key}", identity.quotas.requests)
    return Visit(identity, session.token)


async def read_form(
    request: Request, visit: Visit | None, limit: int = _FORM_BYTES
) -> Mapping[str, str]:
    """The fields of a form of ours. Within a session, its token must be among them."""
    _check_site(request)
    body = await read_body(request, limit)
    fields = parse_qs(body.decode(errors="replace"), keep_blank_values=True)
    if visit is not None:
        given = fields.get("token", [""])[0]
        if not secrets.compare_digest(given.encode(), visit.token.encode()):
            raise CrossSiteError("this form is out of date: load the page again")
    return {name: "\n".join(values) for name, values in fields.items()}


def _check_site(request: Request) -> None:
    """Raise an error if a page of another site sent this form: it could log somebody in with a key
    that is not theirs. Browsers say where a form comes from."""
    site = request.headers.get("sec-fetch-site")
    if site is None:
        origin = request.headers.get("origin")
        is_ours = origin is None or origin.partition("://")[2] == request.headers.get("host", "")
    else:
        is_ours = site in ("same-origin", "none")
    if not is_ours:
        raise CrossSiteError("this form was sent by a page of another site")


def state_badge(enabled: bool) -> Markup:
    """Whether a subscription matches."""
    look, word = ("on", "enabled") if enabled else ("off", "disabled")
    return Markup('<span class="badge {}">{}</span>').format(look, escape(word))
