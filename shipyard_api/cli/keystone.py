"""Shipyard's address and a token for it, from a Keystone (contract: shipyard-cli, 1.2)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shipyard_api.cli.global_options import KeystoneOptions, ca_bundle
from shipyard_api.http import checked_base
from shipyard_api.http.failures import describe_failure

if TYPE_CHECKING:
    from keystoneauth1.identity.v3 import Password, Token
    from keystoneauth1.session import Session

_SERVICE, _INTERFACE = "shipyard", "public"
_TIMEOUT = 60.0  # seconds for an answer of Keystone


class KeystoneError(Exception):
    """Keystone returned no token or no address; the text is for people."""


class KeystoneLogin:
    """A login at Keystone, made when it is first needed and renewed before its token expires.

    Raises KeystoneError for an address that cannot be used, without quoting it: it may contain a password.
    """

    def __init__(self, options: KeystoneOptions) -> None:
        try:
            url = checked_base(options.auth_url or "")
        except ValueError as error:
            raise KeystoneError(f"OS_AUTH_URL: {error}") from error
        self._options, self._auth_url = options, url if url.endswith("/v3") else f"{url}/v3"
        self._session: Session | None = None
        self._plugin: Password | Token | None = None

    def token(self) -> str:
        """Return a token that is valid now. Raises KeystoneError."""
        if self._options.token and self._options.token_as_is:
            return self._options.token
        with _errors_of_keystone(self._auth_url):
            return str(self._open_session().get_token(self._auth_plugin()))

    def address(self) -> str:
        """Return the public address of Shipyard in the catalog. Raises KeystoneError."""
        with _errors_of_keystone(self._auth_url):
            if self._options.token and self._options.token_as_is:
                # A login with the token would have to name its project, and a Keystone may forbid such logins. The
                # token has a catalog of its own, unless it is unscoped.
                address = self._address_in_own_catalog()
                if address:
                    return address
            access = self._auth_plugin().get_access(self._open_session())
            return str(access.service_catalog.url_for(service_type=_SERVICE, interface=_INTERFACE))

    def _open_session(self) -> "Session":
        if self._session is None:
            from keystoneauth1.session import Session

            self._session = Session(timeout=_TIMEOUT)
        return self._session

    def _auth_plugin(self) -> "Password | Token":
        if self._plugin is None:
            from keystoneauth1.identity.v3 import Password, Token

            options, url = self._options, self._auth_url
            # Without a project's name its domain has no meaning.
            project_domain = options.project_domain_name if options.project_name and not options.domain_name else None
            if options.token:
                self._plugin = Token(
                    url,
                    options.token,
                    project_name=options.project_name,
                    project_domain_name=project_domain,
                    domain_name=options.domain_name,
                )
            elif options.username and options.password:
                self._plugin = Password(
                    url,
                    options.password,
                    username=options.username,
                    user_domain_name=options.user_domain_name,
                    project_name=options.project_name,
                    project_domain_name=project_domain,
                    domain_name=options.domain_name,
                )
            else:
                raise KeystoneError("Keystone needs OS_USERNAME and OS_PASSWORD, or OS_AUTH_TOKEN")
        return self._plugin

    def _address_in_own_catalog(self) -> str | None:
        """Return the address in the catalog of the given token, or None without a catalog that it may read."""
        from keystoneauth1.access.service_catalog import ServiceCatalogV3
        from keystoneauth1.exceptions import HttpError

        try:
            answer = self._open_session().get(
                f"{self._auth_url}/auth/catalog",
                headers={"X-Auth-Token": str(self._options.token)},
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
def _errors_of_keystone(url: str) -> Iterator[None]:
    from keystoneauth1.exceptions import ClientException, ConnectionError, NotFound

    try:
        yield
    except ConnectionError as error:
        # The library's own texts quote whole addresses and the texts of requests.
        raise _unreachable(error.__context__ or error, url) from error
    except ClientException as error:
        hint = "; is OS_AUTH_URL the address of a Keystone?" if isinstance(error, NotFound) else ""
        raise KeystoneError(f"{error}{hint}") from error
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        # The library does not check the shape of answers: another server's answer raises any of these.
        raise KeystoneError(f"the server at OS_AUTH_URL is not a Keystone v3 ({type(error).__name__})") from error
    except OSError as error:
        raise _unreachable(error, url) from error


def _unreachable(error: BaseException, url: str) -> KeystoneError:
    cause = describe_failure(error, url, connect=_TIMEOUT, read=_TIMEOUT, ca_file=ca_bundle())
    return KeystoneError(f"Keystone: {cause.detail}")
