package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// children lists the processes that a process started.
func children(pid int) []int {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil
	}
	var pids []int
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// compiler waits for the process that compiles for another.
func compiler(t *testing.T, pid int) int {
	t.Helper()
	var found int
	await(t, "a process that compiles", func() bool {
		for _, child := range children(pid) {
			if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)); err == nil && strings.Contains(string(line), childVerb) {
				found = child
			}
		}
		return found != 0
	})
	return found
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// slow takes longer to compile than any test waits.
func slow() []byte { return phis(1500, 6000) }

func TestAChildIsKilledFromOutside(t *testing.T) {
	c := open(t, t.TempDir(), &CacheOptions{Command: thisBinary(t)})
	done := make(chan error, 1)
	go func() { done <- c.Ensure(context.Background(), slow()) }()
	if err := syscall.Kill(compiler(t, os.Getpid()), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	failed := failedAs(t, <-done, ReasonCrashed)
	if !strings.Contains(failed.Detail, "killed") {
		t.Errorf("it says %q", failed.Detail)
	}
	ensure(t, c, answers(7, 10))
	if left := files(t, c.own); len(left) != 2 { // the lock, and what is loadable
		t.Errorf("%v are left", left)
	}
}

func TestCancellingEndsTheChild(t *testing.T) {
	c := open(t, t.TempDir(), &CacheOptions{Command: thisBinary(t)})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Ensure(ctx, slow()) }()
	child := compiler(t, os.Getpid())
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if !gone(child) {
		t.Error("the process is left")
	}
}

// A child does not outlive the host that it compiles for, however that ends, and
// what both left is removed by the next host.
func TestAChildEndsWithItsParent(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "module")
	if err := os.WriteFile(file, slow(), 0o600); err != nil {
		t.Fatal(err)
	}
	host := exec.Command(thisBinary(t)[0], ensureVerb, dir, file)
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	child := compiler(t, host.Process.Pid)
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait() // says that it was killed
	await(t, "the end of the process that compiles", func() bool { return gone(child) || zombie(child) })
	open(t, dir, nil)
	if left, err := filepath.Glob(filepath.Join(dir, processPrefix+"*")); err != nil || len(left) != 1 {
		t.Errorf("%v are left: %v", left, err)
	}
}

// zombie tells a process that has ended and that its new parent has not heard of.
func zombie(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err != nil || strings.Contains(string(status), "State:\tZ")
}

// limitsOf reads what the system allows a process: soft and hard.
func limitsOf(t *testing.T, pid int) map[string]string {
	t.Helper()
	file, err := os.Open(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, rest := strings.TrimSpace(lines.Text()[:25]), strings.Fields(lines.Text()[25:]); len(rest) >= 2 {
			all[name] = rest[0] + " " + rest[1]
		}
	}
	return all
}

func TestAChildIsConfined(t *testing.T) {
	inherited, err := syscall.Open(os.DevNull, syscall.O_RDONLY, 0) // and no O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	c := open(t, t.TempDir(), &CacheOptions{Command: thisBinary(t), Time: 30 * time.Second, FileBytes: 5 << 20})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	defer func() { cancel(); <-done }()
	go func() { done <- c.Ensure(ctx, slow()) }()
	child := compiler(t, os.Getpid())
	await(t, "a limit of data", func() bool {
		return limitsOf(t, child)["Max data size"] != limitsOf(t, os.Getpid())["Max data size"]
	})
	limits := limitsOf(t, child)
	for name, want := range map[string]string{
		"Max cpu time": "30 31", "Max file size": "5242880 5242880", "Max core file size": "0 0",
	} {
		if limits[name] != want {
			t.Errorf("%s is %s, want %s", name, limits[name], want)
		}
	}
	if group, err := syscall.Getpgid(child); err != nil || group != child {
		t.Errorf("the group is %d of %d: %v", group, child, err)
	}
	descriptors, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", child))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range descriptors {
		target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", child, fd.Name()))
		if number, _ := strconv.Atoi(fd.Name()); err == nil && number > 2 && target == os.DevNull {
			t.Errorf("descriptor %s is %s", fd.Name(), target)
		}
	}
}

// rssAnon is the memory of this process that no file is behind, in bytes.
func rssAnon(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "RssAnon:")
	kib, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// A module that is out of proportion costs a process of its own at most its
// limits, and the host next to nothing.
func TestBombsCostTheChild(t *testing.T) {
	const memory, seconds = 160 << 20, 1
	c := open(t, t.TempDir(), &CacheOptions{Command: thisBinary(t), MemoryBytes: memory, Time: seconds * time.Second})
	failures := 0
	for _, bomb := range bombs() {
		t.Run(bomb.name, func(t *testing.T) {
			before, gap, stop := rssAnon(t), time.Duration(0), make(chan struct{})
			ticks := make(chan struct{})
			go func() {
				defer close(ticks)
				for last := time.Now(); ; {
					select {
					case <-stop:
						return
					case <-time.After(10 * time.Millisecond):
						gap, last = max(gap, time.Since(last)), time.Now()
					}
				}
			}()
			start := time.Now()
			err := c.Ensure(t.Context(), bomb.binary)
			close(stop)
			<-ticks
			grown := rssAnon(t) - before
			t.Logf("%d bytes: %v after %v; the host grew by %d KiB; worst gap between ticks %v", len(bomb.binary), err, time.Since(start), grown>>10, gap)
			if grown > 48<<20 {
				t.Errorf("the host grew by %d bytes", grown)
			}
			if err == nil {
				return
			}
			failures++
			var failed *CompileError
			if !errors.As(err, &failed) {
				t.Fatal(err)
			}
			switch {
			case failed.Reason == ReasonMemory && failed.Limit == memory && failed.Setting == SettingMemory:
			case failed.Reason == ReasonTime && failed.Limit == seconds && failed.Setting == SettingTime:
			case raced && failed.Reason == ReasonCrashed: // the race detector ends a process that finds no memory
			default:
				t.Errorf("the error is %+v", failed)
			}
		})
	}
	if failures < 3 {
		t.Errorf("%d modules are refused: these are no bombs", failures)
	}
	ensure(t, c, answers(7, 10))
}

// mounted gives a directory on a file system of its own, where this user may
// mount one.
func mounted(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		t.Skip("nothing can be mounted here: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestAFullDisk(t *testing.T) {
	for way, command := range ways(t) {
		t.Run(way, func(t *testing.T) {
			c := open(t, filepath.Join(mounted(t, "size=1m"), "cache"), &CacheOptions{Command: command})
			old := answers(7, 3000)
			ensure(t, c, old)
			c.release(old)
			ensure(t, c, answers(8, 7000)) // others make way
			err := c.Ensure(t.Context(), answers(9, 60000))
			var failed *CompileError
			if !errors.Is(err, errStorage) || errors.As(err, &failed) || !strings.Contains(err.Error(), "space") {
				t.Errorf("a full disk gives %v", err)
			}
			if err := run(c, answers(8, 7000)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestADirectoryThatIsReadOnly(t *testing.T) {
	dir := mounted(t, "size=1m")
	if err := os.Mkdir(filepath.Join(dir, "cache"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=1m"); err != nil {
		t.Skip("nothing can be mounted again here: ", err)
	}
	if _, err := OpenCache(filepath.Join(dir, "cache"), nil); !errors.Is(err, syscall.EROFS) {
		t.Errorf("the error is %v", err)
	}
}
