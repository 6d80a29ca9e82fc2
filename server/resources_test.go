package server_test

import (
	"encoding/json"
	"testing"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
)

func TestAnUploadComesBack(t *testing.T) {
	w := start(t, wasmbuild.Guest{})
	status, header, body := w.do(t, "POST", "/v1/resources", "text/csv", "a,b\n1,2\n")
	var resource abi.Resource
	if err := json.Unmarshal(body, &resource); err != nil || status != 201 || header.Get("Location") != "/v1/resources/"+resource.ID {
		t.Fatalf("upload: got %d %v %s", status, header, body)
	}
	status, header, body = w.do(t, "GET", header.Get("Location"), "", "")
	if status != 200 || header.Get("Content-Type") != "text/csv" || string(body) != "a,b\n1,2\n" {
		t.Errorf("download: got %d %v %q", status, header, body)
	}
}
