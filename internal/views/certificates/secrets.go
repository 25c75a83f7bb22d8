package certificates

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// AuthorityAnnotation of a Secret says which Secret holds the authorities that it belongs to. Only
// Secrets that have it are changed.
const AuthorityAnnotation = v1alpha1.GroupName + "/authority"

const (
	tokenKey = "token"
	// tokenBytes are random; twice as many characters.
	tokenBytes = 32
)

// FleetSecret is one that has a certificate, and the Secret for it.
type FleetSecret struct{ Fleet, Secret types.NamespacedName }

// SecretOptions say which Secrets there are to be.
type SecretOptions struct {
	Client *kube.Client
	// Authority has the authorities with their keys.
	Authority types.NamespacedName
	// Server has the certificate of endpoint-views serve, for these names.
	Server      types.NamespacedName
	ServerNames []string
	// Token has the token of the operator of fleets; without a name there is none.
	Token  types.NamespacedName
	Fleets []FleetSecret
	// TrustDomain is that of the names of fleets.
	TrustDomain string
	// Written is told each Secret that was made or renewed.
	Written func(types.NamespacedName)
}

// content makes what a Secret is to hold of what it holds.
type content func(has map[string][]byte) (map[string][]byte, error)

// Renew makes the Secrets, and renews what is to be renewed. One that cannot be written
// holds up no other, except that of the authorities: nothing is signed by one that is
// stored nowhere.
func Renew(ctx context.Context, o SecretOptions, now time.Time) error {
	var authorities Authorities
	err := o.keep(ctx, o.Authority, corev1.SecretTypeOpaque, func(has map[string][]byte) (map[string][]byte, error) {
		var err error
		if has != nil {
			if authorities, err = Parse(has); err != nil {
				return nil, fmt.Errorf("%w; restore it, or delete it: then all certificates are made again", err)
			}
		}
		if authorities, err = authorities.Renewed(now); err != nil {
			return nil, err
		}
		return authorities.Data()
	})
	if err != nil {
		return err
	}
	issue := func(to types.NamespacedName, owner Owner) error {
		return o.keep(ctx, to, corev1.SecretTypeTLS, func(has map[string][]byte) (map[string][]byte, error) {
			return authorities.Issue(now, owner, has)
		})
	}
	failed := []error{issue(o.Server, Owner{Names: o.ServerNames})}
	if o.Token.Name != "" {
		failed = append(failed, o.keep(ctx, o.Token, corev1.SecretTypeOpaque, token))
	}
	for _, f := range o.Fleets {
		failed = append(failed, issue(f.Secret, Owner{TrustDomain: o.TrustDomain, Namespace: f.Fleet.Namespace, Name: f.Fleet.Name}))
	}
	return errors.Join(failed...)
}

// token makes one where there is none.
func token(has map[string][]byte) (map[string][]byte, error) {
	if len(has[tokenKey]) > 0 {
		return has, nil
	}
	random := make([]byte, tokenBytes)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	return map[string][]byte{tokenKey: []byte(hex.EncodeToString(random))}, nil
}

// keep makes a Secret, or changes it where it is not what it should be.
func (o SecretOptions) keep(ctx context.Context, name types.NamespacedName, kind corev1.SecretType, of content) error {
	resource := kube.Secrets(name.Namespace)
	secret := &corev1.Secret{}
	err := o.Client.Get(ctx, resource, name.Name, secret)
	missing := apierrors.IsNotFound(err)
	switch {
	case missing:
		*secret = corev1.Secret{Type: kind, ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name, Annotations: map[string]string{AuthorityAnnotation: o.Authority.String()},
			Labels: map[string]string{"app.kubernetes.io/managed-by": "endpoint-views"},
		}}
	case err != nil:
		return fmt.Errorf("read Secret %s: %w", name, err)
	case secret.Annotations[AuthorityAnnotation] != o.Authority.String():
		return fmt.Errorf("the Secret %s exists and was not made by this installation, so it is left alone; delete it, or choose another name", name)
	}
	data, err := of(secret.Data)
	if err != nil {
		return fmt.Errorf("make the Secret %s: %w", name, err)
	}
	if !missing && maps.EqualFunc(data, secret.Data, slices.Equal) {
		return nil
	}
	if secret.Data = data; missing {
		err = o.Client.Create(ctx, resource, secret, &corev1.Secret{})
	} else {
		err = o.Client.Update(ctx, resource, name.Name, secret, &corev1.Secret{})
	}
	if err != nil {
		return fmt.Errorf("write Secret %s: %w", name, err)
	}
	o.Written(name)
	return nil
}
