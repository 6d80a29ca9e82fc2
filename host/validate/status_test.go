package validate

import (
	"fmt"
	"testing"

	"vcphost/abi"
)

// statusAllowed tells independently of the code whether the table of §5.5 and
// the phases of §10 allow a payload: the table row by row, as a reader would
// tick it off.
func statusAllowed(status string, phase abi.Phase, data, failure bool, task string) bool {
	switch status {
	case "success":
		return phase != abi.PhaseFirst && !failure && (task == "" || task == "completed")
	case "accepted":
		inTime := phase == abi.PhaseFirst || phase == abi.PhaseHost
		return inTime && !failure && (task == "created" || task == "queued" || task == "running")
	case "partial":
		return phase != abi.PhaseFirst && data && (task == "" || task == "completed")
	case "error":
		return failure && (task == "" || task == "failed")
	case "cancelled":
		late := phase == abi.PhaseCallback || phase == abi.PhaseHost
		return late && failure && (task == "" || task == "cancelled")
	case "timeout":
		late := phase == abi.PhaseCallback || phase == abi.PhaseHost
		return late && failure && (task == "" || task == "timed_out")
	}
	return false
}

func TestStatusTable(t *testing.T) {
	s := payloadSchema(t)
	statuses := []string{"success", "accepted", "partial", "error", "cancelled", "timeout", "unknown", ""}
	tasks := []string{"", "created", "queued", "running", "completed", "failed", "cancelled", "timed_out"}
	phases := []abi.Phase{abi.PhaseSync, abi.PhaseFirst, abi.PhaseCallback, abi.PhaseHost}
	cases := 0
	for _, status := range statuses {
		for _, task := range tasks {
			for bits := range 4 {
				data, failure := bits&1 != 0, bits&2 != 0
				document := statusDocument(status, data, failure, task)
				anyPhase := false
				for _, phase := range phases {
					cases++
					want := statusAllowed(status, phase, data, failure, task)
					anyPhase = anyPhase || want
					if _, err := readPayload(document, phase); (err == nil) != want {
						t.Errorf("%s in phase %s: got %v, want allowed = %v", document, phase, err, want)
					}
				}
				if problems := s.Problems([]byte(document)); (problems == nil) != anyPhase {
					t.Errorf("%s: the schema says %v, want allowed in some phase = %v", document, problems, anyPhase)
				}
			}
		}
	}
	if cases != 8*8*4*4 {
		t.Errorf("ran %d cases", cases)
	}
}

func statusDocument(status string, data, failure bool, task string) string {
	document := fmt.Sprintf(`{"status":%q,"data":%s`, status, map[bool]string{true: `{"a":1}`, false: "null"}[data])
	if failure {
		document += `,"error":{"code":"X.Y","message":"m"}`
	}
	if task != "" {
		document += fmt.Sprintf(`,"task":{"id":"task_1","state":%q}`, task)
	}
	return document + "}"
}

// Null stands for an absent member in every row of the table.
func TestStatusTableTakesNullForAbsent(t *testing.T) {
	s := payloadSchema(t)
	for _, document := range []string{
		`{"status":"success","data":null,"error":null,"task":null,"presentation":null,"aiAdvice":null}`,
		`{"status":"error","data":null,"error":{"code":"X.Y","message":"","category":null,"retryable":null,"target":null,"details":null,"cause":null},"task":null}`,
	} {
		p, err := readPayload(document, abi.PhaseSync)
		if err != nil {
			t.Errorf("Payload refuses %s: %v", document, err)
			continue
		}
		if p.Task != nil || p.Presentation != nil || p.AIAdvice != nil {
			t.Errorf("null became a value in %+v", p)
		}
		if problems := s.Problems([]byte(document)); problems != nil {
			t.Errorf("the schema refuses %s: %v", document, problems)
		}
	}
}
