package image_test

import (
	"debug/buildinfo"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// builder carries out the stages for one platform.
type builder struct {
	t    *testing.T
	d    dockerfile
	arch string
	// context is what the builder is given.
	context string
	// roots are the file systems of the stages, without what the images had.
	roots map[string]string
}

// version is given to the build.
const version = "v9.8.7-test"

// TestTheBuildStagesYieldTheImages runs every command of the Dockerfile.
func TestTheBuildStagesYieldTheImages(t *testing.T) {
	if testing.Short() {
		t.Skip("two platforms are not compiled under -short")
	}
	d, context := parse(t), clone(t)
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		t.Run(arch, func(t *testing.T) {
			b := &builder{t: t, d: d, arch: arch, context: context, roots: map[string]string{}}
			for _, s := range d.stages {
				b.run(s)
			}
			const program, views = "ionos-endpointslice-controller", "endpoint-views"
			const kubectl, script = "usr/local/bin/kubectl", "scripts/render_inventory.py"
			b.wantTree("controller", program)
			b.wantTree("endpoint-views", views)
			b.wantTree("toolbox", program, script, kubectl)
			b.wantStatic("controller", program, machine)
			b.wantStatic("endpoint-views", views, machine)
			b.wantStatic("toolbox", kubectl, machine)
			if arch == runtime.GOARCH {
				b.wantVersion("controller", program)
				b.wantVersion("endpoint-views", views)
				b.wantSameBytes(program, views)
			}
		})
	}
}

// clone is what the builder gets of the repository on another machine: the committed
// files, with the changes here that are not committed.
func clone(t *testing.T) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = repository
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	context := t.TempDir()
	for _, file := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		if !ignored(t, file) {
			copyFile(t, filepath.Join(repository, file), filepath.Join(context, file))
		}
	}
	return context
}

// run carries out a stage.
func (b *builder) run(s stage) {
	b.t.Helper()
	root := b.t.TempDir()
	b.roots[s.name] = root
	workdir, env := "/", append(os.Environ(), "GOWORK=off")
	for _, i := range s.instructions {
		switch i.name {
		case "WORKDIR":
			workdir = i.args
			if err := os.MkdirAll(filepath.Join(root, workdir), 0o755); err != nil {
				b.t.Fatal(err)
			}
		case "ENV":
			env = append(env, strings.Fields(i.args)...)
		case "ARG":
			name, value, _ := strings.Cut(i.args, "=")
			given := map[string]string{"TARGETOS": "linux", "TARGETARCH": b.arch, "VERSION": version}
			if known, ok := given[name]; ok {
				value = known
			}
			env = append(env, name+"="+value)
		case "COPY":
			b.copy(root, workdir, i.args)
		case "RUN":
			// No container, so what would be its root is spelled out.
			command := exec.CommandContext(b.t.Context(), "sh", "-ec", strings.ReplaceAll(i.args, " /out/", " "+root+"/out/"))
			command.Dir, command.Env = filepath.Join(root, workdir), env
			if out, err := command.CombinedOutput(); err != nil {
				b.t.Fatalf("%s: RUN %s: %v\n%s", s.name, i.args, err, out)
			}
		case "LABEL", "USER", "ENTRYPOINT", "CMD":
		default:
			b.t.Fatalf("%s: %s is unforeseen", s.name, i.name)
		}
	}
}

// copy carries out COPY.
func (b *builder) copy(root, workdir, args string) {
	b.t.Helper()
	from, words := b.context, strings.Fields(args)
	if stage, ok := strings.CutPrefix(words[0], "--from="); ok {
		from, words = b.roots[stage], words[1:]
	}
	target := words[len(words)-1]
	if !filepath.IsAbs(target) {
		target = filepath.Join(workdir, target) + strings.Repeat("/", strings.Count(target, "./"))
	}
	for _, source := range words[:len(words)-1] {
		info, err := os.Stat(filepath.Join(from, source))
		if err != nil {
			b.t.Fatalf("COPY %s: %v", args, err)
		}
		if !info.IsDir() {
			to := filepath.Join(root, target)
			if strings.HasSuffix(target, "/") {
				to = filepath.Join(to, filepath.Base(source))
			}
			copyFile(b.t, filepath.Join(from, source), to)
			continue
		}
		for _, file := range files(b.t, filepath.Join(from, source)) {
			copyFile(b.t, filepath.Join(from, source, file), filepath.Join(root, target, file))
		}
	}
}

// wantTree checks which files an image has beside its base's.
func (b *builder) wantTree(stage string, want ...string) {
	b.t.Helper()
	if got := files(b.t, b.roots[stage]); !slices.Equal(got, want) {
		b.t.Errorf("%s: got files %v, want %v", stage, got, want)
	}
	for _, file := range want {
		info, err := os.Stat(filepath.Join(b.roots[stage], file))
		if err != nil || info.Mode().Perm()&0o555 != 0o555 {
			b.t.Errorf("%s: %s: got mode %v, %v; want it executable by everybody", stage, file, info.Mode(), err)
		}
	}
}

// wantStatic checks that a program needs nothing of the image it is in.
func (b *builder) wantStatic(stage, file string, machine elf.Machine) {
	b.t.Helper()
	path := filepath.Join(b.roots[stage], file)
	program, err := elf.Open(path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer program.Close()
	if program.Machine != machine {
		b.t.Errorf("%s: got %v, want %v", file, program.Machine, machine)
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			b.t.Errorf("%s: has %v, so it is not static", file, p.Type)
		}
	}
	if libraries, err := program.ImportedLibraries(); err == nil && len(libraries) > 0 {
		b.t.Errorf("%s: needs %v", file, libraries)
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["-trimpath"] != "true" || settings["CGO_ENABLED"] != "0" || settings["GOARCH"] != b.arch {
		b.t.Errorf("%s: got settings %v", file, settings)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	if strings.Contains(string(text), b.roots["build"]) || strings.Contains(string(text), os.TempDir()+"/Test") {
		b.t.Errorf("%s: the folder it was built in is in it", file)
	}
}

// wantVersion runs the program, with nothing around it.
func (b *builder) wantVersion(stage, file string) {
	b.t.Helper()
	command := exec.CommandContext(b.t.Context(), filepath.Join(b.roots[stage], file), "--version")
	command.Env = []string{}
	out, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(out), version) {
		b.t.Errorf("version: got %q, %v; want %s", out, err, version)
	}
}

// wantSameBytes builds once more, in another folder.
func (b *builder) wantSameBytes(programs ...string) {
	b.t.Helper()
	first := filepath.Join(b.roots["build"], "out")
	b.run(b.d.stage(b.t, "build"))
	second := filepath.Join(b.roots["build"], "out")
	for _, file := range programs {
		if one, other := sum(b.t, filepath.Join(first, file)), sum(b.t, filepath.Join(second, file)); one != other {
			b.t.Errorf("%s: two builds of one commit differ: %s and %s", file, one, other)
		}
	}
}
