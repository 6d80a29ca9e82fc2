package api

import (
	"vcphost/abi"
	"vcphost/presenters"
	"vcphost/presenters/ai"
	"vcphost/presenters/human"
	"vcphost/presenters/legacy"
	"vcphost/server/identity"
)

// present gives the answer to a call: the result in the view asked for. A tool
// that failed is still an answer of status 200 (§9.1); only the legacy view has
// statuses of its own.
func present(result *abi.Result, who *identity.Identity, options callOptions) (status int, body []byte, err error) {
	consumer := presenters.ConsumerHuman
	if options.view == viewAI {
		consumer = presenters.ConsumerAI
	}
	seen, err := presenters.NewView(result, who.Owner, presenters.Viewer{Viewer: who.Viewer(), Consumer: consumer})
	if err != nil {
		return 0, nil, err
	}
	switch options.view {
	case viewAI:
		body, err = abi.Encode(ai.Present(seen, options.budget))
		return 200, body, err
	case viewLegacy:
		status, body = legacy.Present(seen)
		return status, body, nil
	}
	body, err = human.Present(seen)
	return 200, body, err
}
