package host

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"vcphost/abi"
	"vcphost/host/validate"
	"vcphost/internal/rawjson"
	"vcphost/resources"
)

// adopt takes a plugin's answer over into the host: the payload's rules are
// checked, its resources become the host's, and every reference to them is
// rewritten once, from the plugin's draft ids to the host's.
func (r *run) adopt(context.Context) error {
	payload, problem := validate.Payload(r.reply.Payload, r.phase(), rawjson.Limits{MaxBytes: int(r.plugin.Manifest.Sandbox.MaxOutputBytes)})
	if problem != nil {
		return problem
	}
	r.payload = payload
	r.warnings = append(slices.Clone(payload.Warnings), r.reply.Warnings...)
	r.applyDefaults()
	r.reserveCodes()
	adopted, err := r.adoptResources()
	if err != nil {
		return err
	}
	if err := r.rewriteData(adopted); err != nil {
		return err
	}
	r.rewriteHints(adopted)
	r.checkOutputs()
	r.inspectData()
	return nil
}

func (r *run) phase() abi.Phase {
	if r.command != nil && r.command.Asynchronous {
		return abi.PhaseFirst
	}
	return abi.PhaseSync
}

// applyDefaults fills a presentation and an advice that the payload left out
// from the command's manifest (§15).
func (r *run) applyDefaults() {
	if r.command == nil || !r.payload.Status.OK() {
		return
	}
	if r.payload.Presentation == nil {
		r.payload.Presentation = clone(r.command.Presentation)
	} else if r.command.Presentation != nil && r.payload.Presentation.PreferredView == "" {
		r.payload.Presentation.PreferredView = r.command.Presentation.PreferredView
	}
	if r.payload.AIAdvice == nil {
		r.payload.AIAdvice = clone(r.command.AIAdvice)
	}
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	copied := *p
	return &copied
}

// reserveCodes keeps the host's codes and categories for the host, so that no
// plugin can fake a decision that only the host makes.
func (r *run) reserveCodes() {
	failure := r.payload.Error
	if failure == nil {
		return
	}
	if info := abi.LookupCode(failure.Code); info.HostOnly {
		r.warn(abi.WarningErrorCodeReserved, "/error/code", "only the host may use the code %s", failure.Code)
		failure.Code, failure.Category = "PLUGIN."+failure.Code, abi.CategoryDomain
	}
	if failure.Category.HostOnly() {
		r.warn(abi.WarningErrorCodeReserved, "/error/category", "only the host may use the category %s", failure.Category)
		failure.Category = abi.CategoryDomain
	}
	failure.Complete()
	if r.command != nil && len(r.command.ErrorCodes) > 0 && !slices.Contains(r.command.ErrorCodes, failure.Code) {
		r.warn(abi.WarningErrorCodeUndeclared, "/error/code", "the manifest does not declare the code %s", failure.Code)
	}
}

// adopted maps the ids that a plugin may use to the host's: its drafts to what
// became of them, and the inputs of the call to themselves.
type adopted map[string]string

// adoptResources joins the payload's drafts with the resources that the plugin
// wrote. A draft that names no written resource has no bytes.
func (r *run) adoptResources() (adopted, error) {
	if err := r.describeOutputs(); err != nil {
		return nil, err
	}
	for i, draft := range r.payload.Resources {
		if err := r.session.Describe(draft); err != nil {
			pointer := fmt.Sprintf("/resources/%d", i)
			return nil, abi.NewError(abi.CodeInvalidToolResult, "%s: the resource %q cannot be adopted: %v", pointer, draft.ID, err).
				WithTarget(pointer).WithDetails(map[string]any{"pointer": pointer}).WithCause(err)
		}
	}
	ids := adopted{}
	for _, finished := range r.session.Finished() {
		ids[finished.DraftID] = finished.Resource.ID
		r.resources = append(r.resources, finished.Resource)
		r.warnMismatch(finished)
	}
	return ids, nil
}

// describeOutputs gives each resource that a resourceOutputs pointer of the
// manifest reaches the kind and role that are declared there (§15).
func (r *run) describeOutputs() error {
	if r.command == nil {
		return nil
	}
	for _, output := range r.command.ResourceOutputs {
		value, found := rawjson.At(r.payload.Data, output.Field)
		if !found {
			continue
		}
		id, ok := reference(value, rawjson.KindOf(value))
		if !ok || !slices.ContainsFunc(r.session.Finished(), func(f resources.Finished) bool { return f.DraftID == id }) {
			continue
		}
		if err := r.session.Describe(abi.ResourceDraft{ID: id, Kind: output.Kind, Role: output.Role}); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) warnMismatch(finished resources.Finished) {
	if finished.Mismatch == nil {
		return
	}
	r.warn(abi.WarningMIMEMismatch, finished.Resource.ID, "the resource was declared as %s and its bytes are %s",
		finished.Mismatch.Declared, finished.Mismatch.Found)
}

// rewriteData replaces the plugin's draft ids in data by the host's. A reference
// to something that does not exist makes the result unusable; one to an input
// lists that input in the result.
func (r *run) rewriteData(ids adopted) error {
	if !mayReference(r.payload.Data) {
		return nil
	}
	var dangling error
	r.payload.Data = rawjson.Rewrite(r.payload.Data, func(path *rawjson.Path, value []byte, kind rawjson.Kind) ([]byte, bool) {
		id, ok := reference(value, kind)
		if !ok || dangling != nil {
			return nil, false
		}
		if own, ok := ids[id]; ok {
			return referenceTo(own), true
		}
		if r.listInput(id) {
			return nil, false
		}
		pointer := "/data" + path.String()
		dangling = abi.NewError(abi.CodeInvalidToolResult, "%s references the resource %q, which does not exist", pointer, id).
			WithTarget(pointer).WithDetails(map[string]any{"pointer": pointer, "resource": id})
		return nil, false
	})
	return dangling
}

func referenceTo(id string) []byte {
	return append(rawjson.Quote([]byte(`{"`+abi.ReferenceKey+`":`), id), '}')
}

// listInput adds an input of the call to the result's resources, once.
func (r *run) listInput(id string) bool {
	i := slices.IndexFunc(r.inputs, func(input abi.Resource) bool { return input.ID == id })
	if i < 0 {
		return false
	}
	if !slices.ContainsFunc(r.resources, func(known abi.Resource) bool { return known.ID == id }) {
		input := r.inputs[i]
		input.Role = abi.RoleInput
		input.Metadata = maps.Clone(input.Metadata)
		r.resources = append(r.resources, input)
	}
	return true
}

// rewriteHints does for advice and presentation what rewriteData does for data,
// but drops what does not exist: hints carry no facts.
func (r *run) rewriteHints(ids adopted) {
	if p := r.payload.Presentation; p != nil && p.PrimaryResourceID != "" {
		p.PrimaryResourceID = r.rewriteHint(ids, p.PrimaryResourceID, "/presentation/primaryResourceId")
	}
	advice := r.payload.AIAdvice
	if advice == nil {
		return
	}
	kept := []string{}
	for i, id := range advice.ResourceIDs {
		if own := r.rewriteHint(ids, id, fmt.Sprintf("/aiAdvice/resourceIds/%d", i)); own != "" {
			kept = append(kept, own)
		}
	}
	advice.ResourceIDs = kept
}

func (r *run) rewriteHint(ids adopted, id, pointer string) string {
	if own, ok := ids[id]; ok {
		return own
	}
	if r.listInput(id) {
		return id
	}
	r.warn(abi.WarningDanglingReference, pointer, "the resource %q does not exist; the reference was dropped", id)
	return ""
}

// checkOutputs warns of declared resource outputs that hold no reference.
func (r *run) checkOutputs() {
	if r.command == nil || r.payload.Status != abi.StatusSuccess {
		return
	}
	for _, output := range r.command.ResourceOutputs {
		value, found := rawjson.At(r.payload.Data, output.Field)
		if _, ok := reference(value, rawjson.KindOf(value)); !found || !ok {
			r.warn(abi.WarningResourceOutputMissing, "/data"+output.Field, "the manifest declares a resource here, and the plugin returned none")
		}
	}
}

// maxForbiddenWarnings bounds how many finds of one call are told one by one.
const maxForbiddenWarnings = 20

// inspectData warns of what must not be in data (§5.6, §13.2).
func (r *run) inspectData() {
	found := 0
	rawjson.Walk(r.payload.Data, func(path *rawjson.Path, key string, value []byte, kind rawjson.Kind) rawjson.Visit {
		if reason := forbidden(path, key, value, kind); reason != "" {
			found++
			if found > maxForbiddenWarnings {
				return rawjson.Stop
			}
			r.warn(abi.WarningForbiddenField, "/data"+path.String(), "data must not hold this: %s", reason)
		}
		return rawjson.Continue
	})
}

func forbidden(path *rawjson.Path, key string, value []byte, kind rawjson.Kind) string {
	if key != "" {
		if member, ok := abi.LookupForbiddenMember(key, path.Depth()); ok {
			return member.Reason
		}
	}
	if kind != rawjson.String {
		return ""
	}
	text, ok := rawjson.Unquote(value)
	if !ok {
		return ""
	}
	if key == "type" && abi.ForbiddenContentType(text) {
		return "a content part of a model's message"
	}
	return abi.ForbiddenText(text)
}

func (r *run) warn(code, target, format string, args ...any) {
	r.warnings = append(r.warnings, abi.Warning{Code: code, Message: fmt.Sprintf(format, args...), Target: target})
}
