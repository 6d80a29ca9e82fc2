package abi

// Task is the state of an asynchronous command as one answer tells it (§5.2,
// §10.3). Progress runs from 0 to 1 and is nil when unknown; PollAfterMs is in
// milliseconds.
type Task struct {
	ID          string    `json:"id"`
	State       TaskState `json:"state"`
	Progress    *float64  `json:"progress"`
	PollAfterMs *int64    `json:"pollAfterMs"`
	Placeholder string    `json:"placeholder,omitempty"`
}

// TaskState is a state of the machine of §10.4; no state ever goes back.
//
//	created → queued → running → completed
//	queued | running → failed | cancelled | timed_out
type TaskState string

// The task states of §10.4.
const (
	TaskCreated   TaskState = "created"
	TaskQueued    TaskState = "queued"
	TaskRunning   TaskState = "running"
	TaskCompleted TaskState = "completed"
	TaskFailed    TaskState = "failed"
	TaskCancelled TaskState = "cancelled"
	TaskTimedOut  TaskState = "timed_out"
)

// TaskStates lists every valid state.
func TaskStates() []TaskState {
	return []TaskState{TaskCreated, TaskQueued, TaskRunning, TaskCompleted, TaskFailed, TaskCancelled, TaskTimedOut}
}
