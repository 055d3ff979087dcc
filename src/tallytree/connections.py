"""Why a PostgreSQL server lets nobody in, in words of our own: its words hold names, and may hold secrets."""

import re

ADVICE = "check the URL, the user and the password, and that the server is up"

# A failed connection has no code, only a text: in English, unless the server speaks another language. What
# users name themselves stands in quotes, and is taken out before.
REASONS = {
    "role does not exist": "the server knows no such user",
    "password authentication failed": "the server knows no such user, or the password is wrong",
    "no password supplied": "the server wants a password, which may be in the URL, PGPASSWORD or .pgpass",
    "database does not exist": "the server has no such database",
    "permission denied for database": "the user may not connect to this database",
    "is not permitted to log in": "the user may not log in",
    "no pg_hba.conf entry": "the server does not admit this user from here (see its pg_hba.conf)",
    "too many": "the server has too many connections, so try again later",
    "terminating connection|closed the connection": "the server ended it",
    "starting up|shutting down": "the server is starting or stopping, so try again later",
    "Connection refused": "no server answers at this host and port",
    "resolve host|translate host|Name or service": "there is no such host",
    "timeout|timed out": "the server does not answer in time",
}


def explain_refusal(error: BaseException) -> str:
    """Why there is no connection, as the end of a sentence."""
    said = " ".join(re.sub(r'"[^"]*"', "", str(error)).split())
    return next((reason for words, reason in REASONS.items() if re.search(words, said)), ADVICE)
