package preflight

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/files"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/jwt"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
)

// maxToken bounds what is read of a file with a token.
const maxToken = 64 << 10

// judgePoolCredentials says how long the credentials of each pool are valid, as far as
// their files say so. Nothing is asked.
func judgePoolCredentials(set documents.Set, dir string, now time.Time) []Check {
	var checks []Check
	for _, pool := range set.Pools() {
		name := pool.Spec.Credentials
		if name == "" || dir == "" {
			continue
		}
		folder := filepath.Join(dir, name)
		if pool.Spec.Source.IONOS != nil {
			checks = append(checks, judgePoolToken(pool, filepath.Join(folder, "token"), now)...)
		}
		if pool.Spec.Source.IONOS != nil || pool.Spec.Source.Kubernetes != nil {
			checks = append(checks, judgePoolKubeconfig(pool, filepath.Join(folder, "kubeconfig"), now)...)
		}
	}
	return checks
}

// subjectOf names a file with credentials of a pool.
func subjectOf(pool *v1alpha1.EndpointPool, path string) string {
	return "EndpointPool " + pool.Name + " " + path
}

func judgePoolToken(pool *v1alpha1.EndpointPool, path string, now time.Time) []Check {
	subject := subjectOf(pool, path)
	token, err := files.Read(path, maxToken)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // where one is needed, another check says so
	}
	if err != nil {
		return []Check{SourceRead.fail(subject, "%v", err).remedied("let this process read that file")}
	}
	_, ends := jwt.Validity(strings.TrimSpace(string(token)))
	if ends.IsZero() {
		return []Check{SourceToken.skip(subject, "it does not say when it expires")}
	}
	return []Check{judgeExpiry(SourceToken, subject, "it", ends, now, ends.Sub(now) < expiring).orElse("create a new token and write it to that file; it is used without a restart")}
}

func judgePoolKubeconfig(pool *v1alpha1.EndpointPool, path string, now time.Time) []Check {
	if _, err := os.Stat(path); err != nil {
		return nil // where one is needed, another check says so
	}
	subject := subjectOf(pool, path)
	access, _, err := kubeapi.Access{Kubeconfig: path, Setting: "spec.credentials", NoPrograms: pool.UID != ""}.Snapshot()
	if err != nil {
		return []Check{SourceRead.fail(subject, "%v", err).remedied("write a kubeconfig of the remote cluster to that file")}
	}
	check := JudgeCredential(SourceExpiry, kubeapi.ExpiryOf(access), now)
	check.Subject = subject
	return []Check{check.orElse("renew the credential in that file; it is used without a restart")}
}
