"""OpenID Connect: callers with tokens and sessions of an identity provider."""
