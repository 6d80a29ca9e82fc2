package registry

import (
	"path"
	"slices"
	"strings"

	"vcphost/abi"
	"vcphost/host/validate"
	"vcphost/internal/rawjson"
)

// filePrefix marks a reference of a prepare call to a file of the folder.
const filePrefix = "file:"

// readPrepare checks the calls that warm the guest. Their arguments are held
// against the input schema like those of any call.
func (r *reader) readPrepare(v value) {
	for element := range v.elements() {
		if !element.is(rawjson.Object) {
			continue
		}
		element.unknown(true, "command", "arguments")
		r.manifest.Sandbox.Prepare = append(r.manifest.Sandbox.Prepare, r.prepareCall(element))
	}
}

func (r *reader) prepareCall(v value) PrepareCall {
	hint, at := v.member("command").text(), v.member("arguments")
	arguments := []byte("{}")
	if at.is(rawjson.Object) {
		arguments = at.raw
	}
	call := PrepareCall{Command: hint, Arguments: arguments, Files: r.preparedFiles(at)}
	plugin := &Plugin{Name: r.manifest.Name, Manifest: r.manifest}
	command, complete, fault := plugin.Command(arguments, hint)
	if fault != nil {
		v.member("command").refuse("%s", fault.Message)
		return call
	}
	call.Arguments = complete
	if command == nil {
		return call
	}
	call.Command = command.Identifier
	if command.Input == nil {
		return call
	}
	if fault := validate.Arguments(command.Input, complete); fault != nil {
		at.refuse("does not pass the inputSchema of %s: %s", quoted(command.Identifier), fault.Message)
	}
	return call
}

// preparedFiles lists the files that the arguments refer to, after checking
// that they are files of the folder.
func (r *reader) preparedFiles(arguments value) []string {
	if !arguments.present() {
		return nil
	}
	var files []string
	rawjson.Walk(arguments.raw, func(where *rawjson.Path, key string, raw []byte, kind rawjson.Kind) rawjson.Visit {
		if key != abi.ReferenceKey || kind != rawjson.String {
			return rawjson.Continue
		}
		at := value{findings: arguments.findings, pointer: arguments.pointer + where.String(), raw: raw}
		name, isFile := strings.CutPrefix(at.text(), filePrefix)
		if !isFile {
			at.refuse("%s must begin with %q: no other resource exists when a plugin is loaded", quoted(at.text()), filePrefix)
			return rawjson.Continue
		}
		before := len(r.files)
		r.readFile(at, name, true)
		if len(r.files) > before && slices.Contains(r.files[:before], path.Clean(name)) {
			r.files = r.files[:before]
		}
		files = append(files, name)
		return rawjson.Continue
	})
	return files
}
