package abi_test

import (
	"testing"

	"vcphost/abi"
)

func TestMayRead(t *testing.T) {
	nova := abi.Owner{Tenant: "default", Actor: "nova"}
	for _, test := range []struct {
		name   string
		viewer abi.Viewer
		object abi.Owner
		want   bool
	}{
		{"the owner", abi.Viewer{Owner: nova}, nova, true},
		{"another actor", abi.Viewer{Owner: abi.Owner{Tenant: "default", Actor: "eve"}}, nova, false},
		{"another tenant", abi.Viewer{Owner: abi.Owner{Tenant: "other", Actor: "nova"}}, nova, false},
		{"letter case", abi.Viewer{Owner: abi.Owner{Tenant: "default", Actor: "Nova"}}, nova, false},
		{"an administrator", abi.Viewer{Owner: abi.Owner{Tenant: "other", Actor: "root"}, Admin: true}, nova, true},
		{"nobody and nobody's", abi.Viewer{}, abi.Owner{}, false},
		{"an object without an actor", abi.Viewer{Owner: abi.Owner{Tenant: "default"}}, abi.Owner{Tenant: "default"}, false},
		{"an object without a tenant", abi.Viewer{Owner: abi.Owner{Actor: "nova"}}, abi.Owner{Actor: "nova"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.viewer.MayRead(test.object); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
