package abi

// Owner is whose an object is. It is kept beside every stored object and is
// never on the wire.
type Owner struct {
	Tenant string `json:"tenant"`
	Actor  string `json:"actor"`
}

// Viewer is who asks to see an object.
type Viewer struct {
	Owner
	Admin bool // an administrator sees every object
}

// MayRead is the one check of who may see what: an object is for its owner and
// for administrators. An object or a viewer without a full identity is
// nobody's.
func (v Viewer) MayRead(object Owner) bool {
	if v.Admin {
		return true
	}
	return object.Tenant != "" && object.Actor != "" && v.Owner == object
}
