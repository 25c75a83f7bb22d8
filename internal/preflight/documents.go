package preflight

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
)

// RunDocuments checks a configuration whose pools and targets are documents, or those of
// its areas that are asked for.
func RunDocuments(c config.Config, set documents.Set, only []Section) Report {
	o := Options{Config: c, Only: only}
	return NewReport(o.chosen(append(OddWithDocuments(c), OfDocuments(set, c.Documents)...)))
}

// OfDocuments returns what there is to say of the folder of DOCUMENTS_DIR: a check for
// each mistake, for each pool that a binding names and the folder lacks, and for the
// credentials of each pool.
func OfDocuments(set documents.Set, folders config.Documents) []Check {
	var checks []Check
	for _, m := range set.Mistakes {
		subject := m.Place()
		if subject == "" {
			subject = "DOCUMENTS_DIR=" + folders.Dir
		}
		checks = append(checks, DocumentsValid.fail(strings.TrimSpace(subject+" "+m.Subject()), "%s", m.Rule).remedied(m.Remedy))
	}
	if len(checks) == 0 {
		checks = append(checks, DocumentsValid.ok("DOCUMENTS_DIR="+folders.Dir, "%s, %s", plural(len(set.Pools()), "pool"), plural(len(set.Bindings()), "binding")))
	}
	return slices.Concat(checks, judgePools(set), judgeCredentials(set, folders.CredentialsDir))
}

// judgePools warns of pools that bindings name and the folder lacks. The API server may
// have them.
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
		for i, name := range e.Binding.Spec.Pools {
			if slices.Contains(names, name) {
				continue
			}
			remedy := "correct the name, or add the pool"
			if near := config.Nearest(name, names); near != "" {
				remedy = "did you mean " + near + "?"
			}
			subject := fmt.Sprintf("%s:%d %s spec.pools[%d]", e.File, e.Line, e.Key, i)
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
		if lacking := lacks(&pool.Spec.Source, has); lacking != "" {
			checks = append(checks, DocumentsCredentials.fail(subject, "%s has no file %s", path, lacking))
			continue
		}
		checks = append(checks, DocumentsCredentials.ok(subject, "%s has what the source needs", path))
	}
	return checks
}

// lacks names the file that a source cannot do without.
func lacks(source *v1alpha1.PoolSource, has func(string) bool) string {
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
