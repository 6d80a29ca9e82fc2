"""Checks beyond those of the client itself."""

import schemathesis


@schemathesis.check
def problems_are_whole(ctx, response, case):
    """Every error that is no tool result is a problem, under the request's id."""
    if response.status_code < 400:
        return
    kind = (response.headers.get("content-type") or [""])[0]
    if kind != "application/problem+json":
        # The legacy view has an error of its own.
        assert response.status_code == 500, f"{response.status_code} is answered as {kind!r}"
        return
    identifier = response.headers.get("x-request-id")
    if case.method == "HEAD":
        assert identifier, "the answer has no request id"
        return
    problem = response.json()
    assert identifier and problem.get("requestId") == identifier[0], "the problem and the header name different requests"
    assert problem.get("status") == response.status_code, "the problem has another status"
    assert problem.get("type") != "/problems/internal", "the server failed"
