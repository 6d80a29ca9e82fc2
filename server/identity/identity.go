package identity

import "vcphost/abi"

// Identity is who a checked key says the caller is. It is shared by all requests
// with the key and read-only. Nil is nobody.
type Identity struct {
	KeyID     string // of the key; StaticKeyID for the static one
	Name      string // of the key
	Scopes    Scopes
	Owner     abi.Owner
	ActorType abi.ActorType
	Admin     bool
}

// Viewer is the caller as the reader of stored objects.
func (i *Identity) Viewer() abi.Viewer {
	if i == nil {
		return abi.Viewer{}
	}
	return abi.Viewer{Owner: i.Owner, Admin: i.Admin}
}

// Actor is the caller as results name it, nil for nobody. The caller owns it, and
// may add the maid that the request names.
func (i *Identity) Actor() *abi.Actor {
	if i == nil {
		return nil
	}
	id, name := i.Owner.Actor, i.Owner.Actor
	return &abi.Actor{Type: i.ActorType, ID: &id, Name: &name}
}

// identify makes the identity of a key.
func identify(k *Key) *Identity {
	return &Identity{
		KeyID: k.ID, Name: k.Name, Scopes: k.Scopes, Owner: k.Owner, ActorType: k.ActorType,
		Admin: k.Scopes.Admin(),
	}
}
