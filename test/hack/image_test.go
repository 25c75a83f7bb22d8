package hack_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const image = "ghcr.io/ablmnzde/ionoscloud-endpointslice-controller"

// checkout makes a repository of its own with the scripts and a Dockerfile: the
// test must not depend on what is committed around it.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "hack"), os.DirFS(filepath.Join(root, "hack"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("FROM scratch\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "all")
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// docker makes a fake that records its arguments; the registry has the tags that
// are listed.
func docker(t *testing.T, tags string, status int) (path, record string) {
	t.Helper()
	record = filepath.Join(t.TempDir(), "calls")
	dir := fake(t, "docker", fmt.Sprintf(`printf '%%s\n' "$*" >>%q
case "$*" in
  "buildx version") exit 0 ;;
  "buildx imagetools inspect "*) case " %s " in *" $4 "*) exit 0 ;; *) exit 1 ;; esac ;;
  "buildx build "*) exit %d ;;
esac
exit 1
`, record, tags, status))
	return dir + ":" + os.Getenv("PATH"), record
}

// builds runs the script of a checkout.
func builds(t *testing.T, dir, path string, args ...string) did {
	t.Helper()
	s := script{name: "build-and-push.sh", args: args, path: path}
	return s.execute(t, "bash", append([]string{filepath.Join(dir, "hack", s.name)}, args...)...)
}

func recorded(t *testing.T, record string) string {
	t.Helper()
	text, err := os.ReadFile(record)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

func TestBuildAndPushBuildsWhatItIsTold(t *testing.T) {
	dir := checkout(t)
	revision := git(t, dir, "rev-parse", "HEAD")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"v1.2.3"}, "--target controller --platform linux/amd64,linux/arm64 --build-arg VERSION=v1.2.3 --build-arg REVISION=" + revision +
			" --sbom=true --provenance=mode=max --tag " + image + ":v1.2.3 --push ."},
		{[]string{"--target", "toolbox", "--platform", "linux/arm64", "v1.2.3"}, "--target toolbox --platform linux/arm64 --build-arg VERSION=v1.2.3 --build-arg REVISION=" +
			revision + " --sbom=true --provenance=mode=max --tag " + image + ":v1.2.3-toolbox --push ."},
		{[]string{"--target", "endpoint-views", "--platform", "linux/arm64", "v1.2.3"}, "--target endpoint-views --platform linux/arm64 --build-arg VERSION=v1.2.3 --build-arg REVISION=" +
			revision + " --sbom=true --provenance=mode=max --tag " + image + ":v1.2.3-endpoint-views --push ."},
	} {
		path, record := docker(t, "", 0)
		builds(t, dir, path, test.args...).want(0, "pushed "+image)
		if got := recorded(t, record); !strings.Contains(got, "buildx build "+test.want+"\n") {
			t.Errorf("%v: got the calls\n%s\nwant buildx build %s", test.args, got, test.want)
		}
		path, record = docker(t, "", 0)
		builds(t, dir, path, append([]string{"--dry-run"}, test.args...)...).want(0, "docker buildx build", "no image is built or pushed")
		if got := recorded(t, record); got != "" {
			t.Errorf("a dry run called docker: %s", got)
		}
	}
}

func TestBuildAndPushRefuses(t *testing.T) {
	dir := checkout(t)
	path, record := docker(t, image+":v1", 0)
	builds(t, dir, path, "v1").want(1, "the registry has "+image+":v1 already", "remedy: another TAG")
	if got := recorded(t, record); strings.Contains(got, "buildx build") {
		t.Errorf("got %s, want no build", got)
	}
	builds(t, dir, path, "--overwrite", "v1").want(0, "pushed")
	broken, _ := docker(t, "", 7)
	builds(t, dir, broken, "v1").want(1, "docker failed", "remedy: docker login ghcr.io").lacks("pushed")
	builds(t, dir, fake(t, "docker", "exit 1")+":"+os.Getenv("PATH"), "v1").want(1, "docker has no buildx", "remedy: install")
	builds(t, dir, pathWithout(t), "v1").want(1, "there is no docker in PATH", "remedy: install Docker")
	builds(t, dir, pathWithout(t, "git"), "v1").want(1, "there is no git in PATH")

	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path, record = docker(t, "", 0)
	builds(t, dir, path, "v2").want(1, "changes that are not committed", "remedy: commit them")
	if got := recorded(t, record); got != "" {
		t.Errorf("got calls of docker for a dirty checkout: %s", got)
	}
	builds(t, dir, path, "--allow-dirty", "v2").want(0)
	if got := recorded(t, record); !strings.Contains(got, "-dirty ") {
		t.Errorf("got %s, want a revision that says -dirty", got)
	}
	if err := os.Remove(filepath.Join(dir, "Dockerfile")); err != nil {
		t.Fatal(err)
	}
	builds(t, dir, path, "v2").want(1, "there is no Dockerfile", "remedy: ")
}
