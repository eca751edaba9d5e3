"""Where Shipyard is and what proves to it who we are, by way of a Keystone (contract: shipyard-cli, 1.2)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shipyard_api.cli.global_options import Identity, trusted
from shipyard_api.http import checked_base, trouble

if TYPE_CHECKING:
    from keystoneauth1.identity.v3 import Password, Token
    from keystoneauth1.session import Session

_SERVICE, _INTERFACE = "shipyard", "public"
_PATIENCE = 60.0  # seconds that a Keystone may take to answer


class KeystoneError(Exception):
    """Keystone gives no token, or no address; the text is for people."""


class Login:
    """A login that is made when it is first needed, and again when its token is about to end.

    Raises KeystoneError for an address that cannot be asked, without quoting it: it may hold a password.
    """

    def __init__(self, identity: Identity) -> None:
        try:
            url = checked_base(identity.auth_url or "")
        except ValueError as error:
            raise KeystoneError(f"OS_AUTH_URL: {error}") from error
        self._identity, self._auth_url = identity, url if url.endswith("/v3") else f"{url}/v3"
        self._session: Session | None = None
        self._plugin: Password | Token | None = None

    def token(self) -> str:
        """Return a token that is valid now. Raises KeystoneError."""
        if self._identity.token and self._identity.token_as_is:
            return self._identity.token
        with _explained(self._auth_url):
            return str(self._opened().get_token(self._login()))

    def address(self) -> str:
        """Return the public address of Shipyard in the catalog. Raises KeystoneError."""
        with _explained(self._auth_url):
            if self._identity.token and self._identity.token_as_is:
                # A login with it would need to name its project again, and a Keystone may forbid such logins. The
                # token itself has a catalog, unless it is for nothing in particular.
                found = self._own_catalog()
                if found:
                    return found
            access = self._login().get_access(self._opened())
            return str(access.service_catalog.url_for(service_type=_SERVICE, interface=_INTERFACE))

    def _opened(self) -> "Session":
        if self._session is None:
            from keystoneauth1.session import Session

            self._session = Session(timeout=_PATIENCE)
        return self._session

    def _login(self) -> "Password | Token":
        if self._plugin is None:
            from keystoneauth1.identity.v3 import Password, Token

            me, url = self._identity, self._auth_url
            # The domain of a project that is not named would say nothing.
            project_domain = me.project_domain_name if me.project_name and not me.domain_name else None
            if me.token:
                self._plugin = Token(
                    url,
                    me.token,
                    project_name=me.project_name,
                    project_domain_name=project_domain,
                    domain_name=me.domain_name,
                )
            elif me.username and me.password:
                self._plugin = Password(
                    url,
                    me.password,
                    username=me.username,
                    user_domain_name=me.user_domain_name,
                    project_name=me.project_name,
                    project_domain_name=project_domain,
                    domain_name=me.domain_name,
                )
            else:
                raise KeystoneError("Keystone needs OS_USERNAME and OS_PASSWORD, or OS_AUTH_TOKEN")
        return self._plugin

    def _own_catalog(self) -> str | None:
        """Return the address that the catalog of the given token has, or None if it has no catalog that we may see."""
        from keystoneauth1.access.service_catalog import ServiceCatalogV3
        from keystoneauth1.exceptions import HttpError

        try:
            answer = self._opened().get(
                f"{self._auth_url}/auth/catalog",
                headers={"X-Auth-Token": str(self._identity.token)},
                authenticated=False,
            )
        except HttpError as error:
            if error.http_status == 401:
                raise
            return None
        catalog = answer.json().get("catalog")
        if not catalog:
            return None
        return str(ServiceCatalogV3(catalog).url_for(service_type=_SERVICE, interface=_INTERFACE))


@contextmanager
def _explained(url: str) -> Iterator[None]:
    from keystoneauth1.exceptions import ClientException, ConnectionError, NotFound

    try:
        yield
    except ConnectionError as error:
        # The library's own texts quote whole addresses, and what requests said of them.
        raise _unreachable(error.__context__ or error, url) from error
    except ClientException as error:
        hint = "; is OS_AUTH_URL the address of a Keystone?" if isinstance(error, NotFound) else ""
        raise KeystoneError(f"{error}{hint}") from error
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        # The library reads answers as they come: one that is no Keystone's ends in any of these.
        raise KeystoneError(f"what answers at OS_AUTH_URL is no Keystone v3 ({type(error).__name__})") from error
    except OSError as error:
        raise _unreachable(error, url) from error


def _unreachable(error: BaseException, url: str) -> KeystoneError:
    told = trouble(error, url, connect=_PATIENCE, read=_PATIENCE, verify=trusted())
    return KeystoneError(f"Keystone: {told.detail}")
