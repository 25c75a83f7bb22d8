package preflight

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
)

// RunDocuments checks a configuration whose pools and targets are documents, or those of
// its areas that are asked for.
func RunDocuments(c config.Config, set documents.Set, only []Section) Report {
	o := Options{Config: c, Only: only}
	expiries := judgePoolCredentials(set, c.Documents.CredentialsDir, time.Now())
	return NewReport(o.chosen(slices.Concat(OddWithDocuments(c), OfDocuments(set, c.Documents), expiries)))
}

// OfDocuments returns what there is to say of documents, in the folder and in the API
// server: a check for each mistake, for each pool that a binding names and that there is
// not, for each kind that the API server lacks, and for the credentials of each pool.
func OfDocuments(set documents.Set, folders config.Documents) []Check {
	var checks []Check
	for _, m := range set.Mistakes {
		subject := m.Place()
		if subject == "" {
			subject = placeOf(folders)
		}
		checks = append(checks, DocumentsValid.fail(strings.TrimSpace(subject+" "+m.Subject()), "%s", m.Rule).remedied(m.Remedy))
	}
	if len(checks) == 0 {
		checks = append(checks, DocumentsValid.ok(placeOf(folders), "%s, %s", plural(len(set.Pools()), "pool"), plural(len(set.Bindings()), "binding")))
	}
	return slices.Concat(checks, judgeKinds(set), judgePools(set), judgeCredentials(set, folders.CredentialsDir))
}

// placeOf says where documents are looked for.
func placeOf(d config.Documents) string {
	var places []string
	if d.Dir != "" {
		places = append(places, "DOCUMENTS_DIR="+d.Dir)
	}
	if d.API {
		places = append(places, "DOCUMENTS_API=true")
	}
	return strings.Join(places, " ")
}

// judgeKinds tells of kinds that the API server lacks, and of objects that do not count
// because of a file.
func judgeKinds(set documents.Set) []Check {
	var checks []Check
	for _, kind := range set.Missing {
		checks = append(checks, DocumentsKind.warn(kind, "the API server does not have the kind, so only files and annotations count"))
	}
	for _, e := range set.Shadowed {
		checks = append(checks, DocumentsKind.warn(e.Key.String(), "a file in DOCUMENTS_DIR has it too, and the file counts").remedied("remove the file or the object"))
	}
	return checks
}

// judgePools warns of pools that bindings name and that there are not.
func judgePools(set documents.Set) []Check {
	var checks []Check
	var names []string
	for _, e := range set.Entries {
		if e.Key.Kind == v1alpha1.KindEndpointPool {
			names = append(names, e.Key.Name)
		}
	}
	for _, e := range set.Entries {
		if e.Binding == nil {
			continue
		}
		for i, name := range e.Binding.Spec.PoolNames() {
			if slices.Contains(names, name) {
				continue
			}
			remedy := "correct the name, or add the pool"
			if near := config.Nearest(name, names); near != "" {
				remedy = "did you mean " + near + "?"
			}
			subject := fmt.Sprintf("%s %s spec.pools[%d]", documents.Mistake{File: e.File, Line: e.Line}.Place(), e.Key, i)
			checks = append(checks, DocumentsPool.warn(subject, "no document is the pool %s", name).remedied(remedy))
		}
	}
	return checks
}

// judgeCredentials looks for the files that a source cannot do without. Their content is
// for the source to judge.
func judgeCredentials(set documents.Set, dir string) []Check {
	var checks []Check
	for _, pool := range set.Pools() {
		name := pool.Spec.Credentials
		if name == "" {
			continue
		}
		subject := "EndpointPool " + pool.Name + " spec.credentials=" + name
		if dir == "" {
			checks = append(checks, DocumentsCredentials.fail(subject, "CREDENTIALS_DIR is not set").remedied("set it to the folder that holds the folder "+name))
			continue
		}
		path := filepath.Join(dir, name)
		entries, err := os.ReadDir(path)
		if err != nil {
			checks = append(checks, DocumentsCredentials.fail(subject, "the folder cannot be read: %v", err))
			continue
		}
		has := func(file string) bool {
			return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == file })
		}
		if lacking := Lacks(&pool.Spec.Source, has); lacking != "" {
			checks = append(checks, DocumentsCredentials.fail(subject, "%s has no file %s", path, lacking))
			continue
		}
		checks = append(checks, DocumentsCredentials.ok(subject, "%s has what the source needs", path))
	}
	return checks
}

// Lacks names the file that a source cannot do without and that its credentials do not
// have; it is empty where there is none.
func Lacks(source *v1alpha1.PoolSource, has func(string) bool) string {
	switch {
	case source.Kubernetes != nil && !has("kubeconfig"):
		return "kubeconfig"
	case source.IONOS == nil:
		return ""
	case !has("token") && !(has("username") && has("password")):
		return "token, nor username and password"
	case source.IONOS.ClusterID == "" && !has("kubeconfig"):
		return "kubeconfig, and spec.source.ionos.clusterID is not set"
	}
	return ""
}
