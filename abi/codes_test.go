package abi_test

import (
	"slices"
	"testing"

	"vcphost/abi"
)

func TestCodesTable(t *testing.T) {
	seen := map[string]bool{}
	for _, info := range abi.Codes() {
		if seen[info.Code] {
			t.Errorf("%s is there twice", info.Code)
		}
		seen[info.Code] = true
		if !abi.ValidCode(info.Code) {
			t.Errorf("%s is no valid code", info.Code)
		}
		if !slices.Contains(abi.Categories(), info.Category) {
			t.Errorf("%s has the unknown category %q", info.Code, info.Category)
		}
		if info.Category.HostOnly() && !info.HostOnly {
			t.Errorf("%s has a category of the host, and a plugin may use it", info.Code)
		}
		if got := abi.LookupCode(info.Code); got != info {
			t.Errorf("LookupCode(%s) = %+v, want %+v", info.Code, got, info)
		}
	}
	// §6.3 demands these twenty.
	for _, code := range []string{
		"INVALID_ARGUMENT", "MISSING_ARGUMENT", "UNKNOWN_COMMAND", "TOOL_NOT_FOUND", "TOOL_DISABLED",
		"APPROVAL_REJECTED", "APPROVAL_TIMEOUT", "UNAUTHORIZED", "FORBIDDEN", "DEPENDENCY_UNAVAILABLE",
		"UPSTREAM_ERROR", "FILE_NOT_FOUND", "RESOURCE_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "TOOL_TIMEOUT",
		"TOOL_CANCELLED", "TRANSPORT_FAILURE", "INVALID_TOOL_RESULT", "DISTRIBUTED_NODE_OFFLINE", "INTERNAL_ERROR",
	} {
		if !seen[code] {
			t.Errorf("%s of §6.3 is not in the table", code)
		}
	}
}

func TestLookupCodeOfPlugins(t *testing.T) {
	for _, test := range []struct {
		name, code string
		want       abi.CodeInfo
	}{
		{"namespaced", "DOUBAO.REJECTED", abi.CodeInfo{Code: "DOUBAO.REJECTED", Category: abi.CategoryDomain}},
		{"plain", "REJECTED", abi.CodeInfo{Code: "REJECTED", Category: abi.CategoryDomain, HostOnly: true}},
		{"below SANDBOX", "SANDBOX.MADE_UP", abi.CodeInfo{Code: "SANDBOX.MADE_UP", Category: abi.CategoryDomain, HostOnly: true}},
		{"like SANDBOX", "SANDBOXED.X", abi.CodeInfo{Code: "SANDBOXED.X", Category: abi.CategoryDomain}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := abi.LookupCode(test.code); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestCategoriesThatOnlyTheHostMayUse(t *testing.T) {
	plugin := []abi.Category{abi.CategoryDomain, abi.CategoryValidation, abi.CategoryDependency}
	for _, category := range abi.Categories() {
		if got, want := category.HostOnly(), !slices.Contains(plugin, category); got != want {
			t.Errorf("%s: host only = %v, want %v", category, got, want)
		}
	}
}

func TestTablesAreCopies(t *testing.T) {
	abi.Codes()[0].Code = "changed"
	abi.Statuses()[0] = "changed"
	abi.ForbiddenMembers()[0].Name = "changed"
	if abi.Codes()[0].Code == "changed" || abi.Statuses()[0] == "changed" || abi.ForbiddenMembers()[0].Name == "changed" {
		t.Errorf("a caller's change reached the table")
	}
}
