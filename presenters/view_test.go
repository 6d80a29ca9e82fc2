package presenters_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/presenters"
	"vcphost/presenters/presentertest"
)

func viewer(o abi.Owner, consumer presenters.Consumer) presenters.Viewer {
	return presenters.Viewer{Viewer: abi.Viewer{Owner: o}, Consumer: consumer}
}

func TestNewViewDeniesByDefault(t *testing.T) {
	owner := presentertest.Owner()
	for _, tt := range []struct {
		name    string
		result  *abi.Result
		owner   abi.Owner
		viewer  presenters.Viewer
		visible bool
		hidden  bool // the error is ErrNotVisible
	}{
		{"owner", presentertest.Full(), owner, viewer(owner, presenters.ConsumerHuman), true, false},
		{"administrator", presentertest.Full(), owner, presenters.Viewer{Viewer: abi.Viewer{Admin: true}, Consumer: presenters.ConsumerAudit}, true, false},
		{"other actor", presentertest.Full(), owner, viewer(abi.Owner{Tenant: "default", Actor: "eve"}, presenters.ConsumerHuman), false, true},
		{"other tenant", presentertest.Full(), owner, viewer(abi.Owner{Tenant: "other", Actor: "ada"}, presenters.ConsumerHuman), false, true},
		{"zero viewer", presentertest.Full(), owner, presenters.Viewer{}, false, true},
		{"owner and viewer without identity", presentertest.Full(), abi.Owner{}, viewer(abi.Owner{}, presenters.ConsumerHuman), false, true},
		{"no result", nil, owner, viewer(owner, presenters.ConsumerHuman), false, true},
		{"no consumer", presentertest.Full(), owner, viewer(owner, ""), false, false},
		{"unknown consumer", presentertest.Full(), owner, viewer(owner, "tv"), false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			view, err := presenters.NewView(tt.result, tt.owner, tt.viewer)
			if (view != nil) != tt.visible || (err == nil) != tt.visible {
				t.Fatalf("got view %v, error %v; want visible %t", view != nil, err, tt.visible)
			}
			if errors.Is(err, presenters.ErrNotVisible) != tt.hidden {
				t.Errorf("got error %v; want ErrNotVisible: %t", err, tt.hidden)
			}
		})
	}
}

func TestViewSharesNothingWithTheResult(t *testing.T) {
	canonical := presentertest.Full()
	view, err := presenters.NewView(canonical, presentertest.Owner(), viewer(presentertest.Owner(), presenters.ConsumerAI))
	if err != nil {
		t.Fatal(err)
	}
	owned := map[uintptr]string{}
	collect(reflect.ValueOf(canonical), "result", owned)
	for _, c := range []struct {
		name string
		copy *abi.Result
	}{{"Result", view.Result()}, {"Envelope", view.Envelope()}} {
		seen := map[uintptr]string{}
		collect(reflect.ValueOf(c.copy), c.name, seen)
		for address, path := range seen {
			if shared, ok := owned[address]; ok {
				t.Errorf("%s shares memory with %s", path, shared)
			}
		}
	}
	if got, want := string(view.Result().Data), string(canonical.Data); got != want {
		t.Errorf("data: got %s, want %s", got, want)
	}
}

// collect notes the address behind every pointer, slice and map below v. A value
// that is the zero value fails to prove anything, so Full has to set them all.
func collect(v reflect.Value, path string, seen map[uintptr]string) {
	if v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[abi.Timestamp]() {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			seen[v.Pointer()] = path
			collect(v.Elem(), path, seen)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			collect(v.Field(i), path+"."+v.Type().Field(i).Name, seen)
		}
	case reflect.Slice:
		if v.Len() == 0 {
			return
		}
		seen[v.Pointer()] = path
		for i := range v.Len() {
			collect(v.Index(i), path, seen)
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		seen[v.Pointer()] = path
		for _, key := range v.MapKeys() {
			collect(v.MapIndex(key), path+"."+key.String(), seen)
		}
	}
}

func TestFullResultLeavesNothingUnset(t *testing.T) {
	var check func(v reflect.Value, path string)
	check = func(v reflect.Value, path string) {
		if v.Kind() == reflect.Pointer && v.IsNil() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0 {
			t.Errorf("%s is not set, so sharing it would go unnoticed", path)
			return
		}
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		switch {
		case v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[abi.Timestamp]():
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				check(v.Field(i), path+"."+v.Type().Field(i).Name)
			}
		case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
			check(v.Index(0), path+"[0]")
		}
	}
	check(reflect.ValueOf(presentertest.Full()), "Result")
}

func TestViewTellsOnlyItsOwnRedactions(t *testing.T) {
	canonical := presentertest.Full()
	presentertest.Unchanged(t, canonical, func() {
		view, err := presenters.NewView(canonical, presentertest.Owner(), viewer(presentertest.Owner(), presenters.ConsumerHuman))
		if err != nil {
			t.Fatal(err)
		}
		policy := view.Envelope().Policy
		if policy.ContainsSensitiveData || len(policy.RedactionsApplied) != 0 {
			t.Errorf("got policy %+v; want no redactions, since no rule ran", policy)
		}
		if policy.Classification != abi.ClassificationInternal {
			t.Errorf("got classification %q", policy.Classification)
		}
	})
}

func TestChangingACopyChangesNeitherViewNorResult(t *testing.T) {
	canonical := presentertest.Full()
	view, err := presenters.NewView(canonical, presentertest.Owner(), viewer(presentertest.Owner(), presenters.ConsumerHuman))
	if err != nil {
		t.Fatal(err)
	}
	presentertest.Unchanged(t, canonical, func() {
		c := view.Result()
		c.Data[0] = 'X'
		c.Resources[0].FileName = "other"
		c.Extensions["vendor.example"][0] = 'X'
		c.Error.Details[0] = 'X'
		_ = append(view.Data(), "tail"...)
	})
	if got := view.Result(); got.Data[0] != '{' || got.Resources[0].FileName != "chart.png" {
		t.Errorf("a change of one copy shows in the next: %s, %s", got.Data, got.Resources[0].FileName)
	}
}
