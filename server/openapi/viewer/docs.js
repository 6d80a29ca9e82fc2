"use strict";

// The key lives in this closure alone, and only requests to this server get it.
(() => {
  const door = document.getElementById("door");
  const field = document.getElementById("key");
  const told = document.getElementById("told");

  const describe = async (key) => {
    const response = await fetch("/openapi.json", {
      headers: { Authorization: "Bearer " + key },
      cache: "no-store",
    });
    const body = await response.json();
    if (!response.ok) throw new Error(body.detail ? body.title + ": " + body.detail : body.title);
    return body;
  };

  const withKey = (key) => (request) => {
    if (new URL(request.url, location.href).origin === location.origin) {
      request.headers = Object.assign({}, request.headers, { Authorization: "Bearer " + key });
    }
    return request;
  };

  door.addEventListener("submit", async (event) => {
    event.preventDefault();
    const key = field.value.trim();
    told.textContent = "";
    try {
      const spec = await describe(key);
      SwaggerUIBundle({
        spec,
        domNode: document.getElementById("viewer"),
        deepLinking: false,
        validatorUrl: null,
        persistAuthorization: false,
        defaultModelsExpandDepth: 0,
        docExpansion: "list",
        requestInterceptor: withKey(key),
        presets: [SwaggerUIBundle.presets.apis],
      });
      field.value = "";
    } catch (failure) {
      told.textContent = failure.message;
    }
  });
})();
