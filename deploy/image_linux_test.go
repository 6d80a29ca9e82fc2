package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vcphost/internal/lockbuf"
)

// image is what the Dockerfile makes, without an engine of containers: a root
// directory that cannot be written and has the program and nothing else, no
// system's libraries and no /proc, and a volume.
type image struct {
	root, program string
	user          uint32
	environment   []string
}

// runImage starts what the image starts, as its user, asks for its health as the
// image does, and stops it with the image's signal.
func runImage(t *testing.T, binary string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("a root directory of its own takes root")
	}
	list, _ := dockerfile(t)
	user, err := strconv.Atoi(strings.Split(only(t, list, "USER"), ":")[0])
	if err != nil {
		t.Fatal(err)
	}
	i := &image{
		root: t.TempDir(), program: words(t, only(t, list, "ENTRYPOINT"))[0],
		user: uint32(user), environment: []string{only(t, list, "ENV")},
	}
	i.assemble(t, binary, words(t, only(t, list, "VOLUME"))[0])
	started := words(t, only(t, list, "CMD"))
	for n, word := range started {
		started[n] = strings.Replace(word, "0.0.0.0:"+only(t, list, "EXPOSE"), "127.0.0.1:0", 1)
	}
	var log lockbuf.Buffer
	server := i.command(started...)
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() { _ = server.Process.Kill() }) // it may have ended by itself
	at := await(t, &log, regexp.MustCompile(`"msg":"serving","addr":"([^"]+)"`), ended)
	if out, err := i.command("healthcheck", "--addr", at).CombinedOutput(); err != nil {
		t.Errorf("healthcheck: %v\n%s", err, out)
	}
	if only(t, list, "STOPSIGNAL") != "SIGTERM" {
		t.Errorf("the image is stopped by %s", only(t, list, "STOPSIGNAL"))
	}
	_ = server.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the server ends with %v:\n%s", err, &log)
		}
	case <-time.After(30 * time.Second):
		t.Errorf("the server does not end:\n%s", &log)
	}
}

// assemble fills the root directory and makes it one that cannot be written.
func (i *image) assemble(t *testing.T, binary, volume string) {
	t.Helper()
	program, data := filepath.Join(i.root, i.program), filepath.Join(i.root, volume)
	for _, dir := range []string{filepath.Dir(program), data} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(program, raw, 0o755)
	}
	if err == nil {
		err = os.Chmod(i.root, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	mount(t, "--bind", i.root, i.root)
	unmountAfter(t, i.root)
	mount(t, "-o", "remount,ro,bind", i.root)
	owner := strconv.FormatUint(uint64(i.user), 10)
	mount(t, "-t", "tmpfs", "-o", "size=1g,mode=0700,uid="+owner+",gid="+owner, "tmpfs", data)
}

// mount skips the test where mounting is not allowed.
func mount(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
		t.Skipf("nothing can be mounted here: %v: %s", err, out)
	}
}

// unmountAfter takes away, at the test's end, what is mounted at a directory and
// below it.
func unmountAfter(t *testing.T, dir string) {
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "--recursive", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
}

// command runs the program inside.
func (i *image) command(args ...string) *exec.Cmd {
	command := exec.Command(i.program, args...)
	command.Env, command.Dir = i.environment, "/"
	command.SysProcAttr = &syscall.SysProcAttr{
		Chroot: i.root, Credential: &syscall.Credential{Uid: i.user, Gid: i.user},
	}
	return command
}

// await gives the first group of the form, once it is there.
func await(t *testing.T, b *lockbuf.Buffer, form *regexp.Regexp, ended <-chan error) string {
	t.Helper()
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(10 * time.Millisecond) {
		if found := form.FindStringSubmatch(b.String()); found != nil {
			return found[1]
		}
		select {
		case err := <-ended:
			t.Fatalf("the server ended with %v:\n%s", err, b)
		default:
		}
	}
	t.Fatalf("the server does not come up:\n%s", b)
	return ""
}
