package vcptext

// toolName is the key that names the tool.
const toolName = "tool_name"

// Block is one call, or one chain of calls, as it is written.
type Block struct {
	// Position is that of the start marker.
	Position
	// Tool is the value of tool_name, never empty.
	Tool string
	// Fields are the other keys in the order of the text, without the control
	// keys. No two have the same name; of equal keys the last one gives the
	// value, the first one the place in the order.
	Fields []Field
	// Control holds the keys that are meant for the host.
	Control Control
	// Notices are the things that were read, but are hardly meant.
	Notices []Notice
}

// Field is one key with its value.
type Field struct {
	// Position is that of the key.
	Position
	Name string
	// Value is trimmed of white space and, if it was an ESCAPE value, unescaped.
	Value string
}

// Notice tells about something that is no error but hardly meant.
type Notice struct {
	Position
	// Text says what it is, in one line.
	Text string
}

// Control holds what a block says to the host and not to the plugin, as it is
// written. A key that is absent or empty is "".
type Control struct {
	// Maid is who calls. Valet is the other word for it; Maid has its value if
	// the block has no maid.
	Maid, Valet string
	// ToolPassword (tool_password) is a secret: it must not be logged or stored.
	ToolPassword string
	// Archery: "true" or "no_reply" ask for no answer on success.
	Archery string
	// Ink: "mark_history" asks to show the result to the client.
	Ink string
	// River asks for parts of the conversation: full, text, last:N, semantic:N.
	River string
	// VRef (vref) asks for that many related diary files.
	VRef string
	// TimelyContact (timely_contact) is the time at which to run the call.
	TimelyContact string
}

// slot gives the place of a control key, nil for any other key.
func (c *Control) slot(key string) *string {
	switch key {
	case "maid":
		return &c.Maid
	case "valet":
		return &c.Valet
	case "tool_password":
		return &c.ToolPassword
	case "archery":
		return &c.Archery
	case "ink":
		return &c.Ink
	case "river":
		return &c.River
	case "vref":
		return &c.VRef
	case "timely_contact":
		return &c.TimelyContact
	}
	return nil
}
