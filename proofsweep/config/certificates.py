"""What the environment says of TLS: files and folders of certificates, and a log of keys. Each must be usable."""

import os
import ssl

from proofsweep.domain.errors import ConfigError

OF_CALLS = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")
OF_ALERTS = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")  # what the library below apprise reads


def require_certificates(variables: tuple[str, ...] = OF_CALLS) -> None:
    """Raise ConfigError, with the variable and its path, if a TLS client of this process could not be made."""
    for variable in variables:
        # A client that has SSL_CERT_FILE does not look into the folder of SSL_CERT_DIR.
        is_read = variable != "SSL_CERT_DIR" or not os.environ.get("SSL_CERT_FILE")
        path = os.environ.get(variable)
        if is_read and path:
            _require(variable, path)


def _require(variable: str, path: str) -> None:
    try:
        _use(variable, path)
    except ssl.SSLError as error:
        raise ConfigError(f"{variable} names {path}, which holds no certificate: correct or unset it.") from error
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ConfigError(f"{variable} names {path}, which cannot be used ({why}): correct or unset it.") from error


def _use(variable: str, path: str) -> None:
    """Do what a client would do with it."""
    if variable == "SSLKEYLOGFILE":
        with open(path, "ab"):  # noqa: PTH123 - text as it is, as OpenSSL reads it
            return
    if variable == "SSL_CERT_DIR":
        folders = path.split(os.pathsep)
        if not any(os.path.isdir(folder) for folder in folders):  # noqa: PTH112 - the same
            os.listdir(folders[0])  # noqa: PTH208 - it raises what is wrong
    elif variable == "SSL_CERT_FILE" or not os.path.isdir(path):  # noqa: PTH112 - those of alerts may be folders
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(path)
