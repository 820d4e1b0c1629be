/** Sign-in with e-mail, password and the code of the second factor: as a page, and over a page. */
import { useState } from 'preact/hooks'
import { ApiFailure, isSessionOver } from '../../api.ts'
import { releaseName } from '../../branding.ts'
import { every } from '../../clock.ts'
import { operatorLinkCommand } from '../../commands.ts'
import { count } from '../../format.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Brand, useTitle } from '../../parts/frame.tsx'
import { Notice } from '../../parts/notices.tsx'
import { keepQuery, place } from '../../router.ts'
import { useSend } from '../../use-send.ts'
import { PasskeyPlace } from '../passkey-place.tsx'
import { signInByPasskey } from '../passkeys.ts'
import { session, signIn } from '../session.ts'
import { useSignInMethods } from '../sign-in-methods.ts'

/** Counts down the seconds of `Retry-After`. */
function useCountdown(): readonly [leftS: number, start: (seconds: number) => void] {
  const [left, setLeft] = useState(0)
  const start = (seconds: number) => {
    setLeft(seconds)
    const stop = every(1000, () =>
      setLeft((value) => {
        if (value <= 1) stop()
        return Math.max(0, value - 1)
      }),
    )
  }
  return [left, start]
}

const SENTENCES: Readonly<Record<string, string>> = {
  invalid_credentials: 'The e-mail, the password or the code is wrong.',
}

function useSignIn(email: string) {
  const [form, setForm] = useState({ email, password: '', code: '' })
  const [needsCode, setNeedsCode] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [message, setMessage] = useState('')
  const [waitS, startWait] = useCountdown()
  const submit = async () => {
    setBusy(true)
    setMessage('')
    try {
      await signIn({ ...form, code: needsCode ? form.code.trim() : undefined })
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error
      if (error.code === 'second_factor_required') setNeedsCode(true)
      else setMessage(SENTENCES[error.code] ?? error.message)
      if (error.status === 429) startWait(error.retryAfterS ?? 1)
      setBusy(false)
    }
  }
  const set = (member: keyof typeof form) => (value: string) => {
    setForm((current) => ({ ...current, [member]: value }))
  }
  return { form, set, needsCode, isBusy, message, waitS, submit }
}

function SignInForm({ email = '' }: { readonly email?: string }) {
  const { form, set, needsCode, isBusy, message, waitS, submit } = useSignIn(email)
  return (
    <Form
      method="post"
      onSubmit={() => {
        if (!isBusy && waitS === 0) submit()
      }}
    >
      {message && (
        <Notice tone="bad" word="Not signed in" role="alert">
          {message} {waitS > 0 && `The next attempt is possible in ${count(waitS, 'second')}.`}
        </Notice>
      )}
      <Field
        label="E-mail"
        type="email"
        name="email"
        value={form.email}
        onInput={set('email')}
        autocomplete="username"
        autofocus={email === ''}
        required
      />
      <Field
        label="Password"
        type="password"
        name="password"
        value={form.password}
        onInput={set('password')}
        autocomplete="current-password"
        autofocus={email !== ''}
        required
      />
      {needsCode && (
        <Field
          label="Code"
          name="code"
          value={form.code}
          onInput={set('code')}
          autocomplete="one-time-code"
          inputMode="text"
          autofocus
          hint="Six digits of the authenticator app, or a recovery code."
        />
      )}
      <Button kind="first" type="submit" disabled={waitS > 0} busy={isBusy && 'Signing in…'}>
        {waitS > 0 ? `Wait ${waitS} s` : 'Sign in'}
      </Button>
    </Form>
  )
}

function PasskeyButton() {
  const { isBusy, failure, run } = useSend()
  const [isUnused, setUnused] = useState(false)
  const start = () =>
    run(async () => {
      setUnused(false)
      try {
        await signInByPasskey()
      } catch (error) {
        // The operator cancelled, or the device has no passkey.
        if (!(error instanceof DOMException)) throw error
        setUnused(true)
      }
    })
  return (
    <>
      <p>
        <Button onClick={start} busy={isBusy && 'Waiting for the device…'}>
          Sign in with a passkey
        </Button>
      </p>
      {(failure || isUnused) && (
        <Notice tone="bad" word="Not signed in" role="alert">
          {failure ? 'This passkey is not registered here.' : 'No passkey was used.'}
        </Notice>
      )}
    </>
  )
}

/** Leads to the identity provider, and from there back to this page. */
function ProviderLink({ issuer, query }: { readonly issuer: string; readonly query: string }) {
  const target = new URLSearchParams(query)
  target.set('return', keepQuery(place.value.path))
  return (
    // With a target the router leaves the link to the browser.
    <a class="btn first" href={`/console/oidc?${target}`} target="_self">
      Sign in with {new URL(issuer).host}
    </a>
  )
}

/** The identity provider first, if there is one; the password is then for emergencies. */
function SignInWays({ email, query = '' }: { readonly email?: string; readonly query?: string }) {
  const methods = useSignInMethods()
  if (methods === undefined) return null
  const { issuer, passwords } = methods
  const form = passwords !== 'off' && (
    <>
      <SignInForm {...(email !== undefined && { email })} />
      <PasskeyPlace methods={methods}>
        <PasskeyButton />
      </PasskeyPlace>
      {email === undefined && (
        <p class="hint">
          Without an account, or without the password: <code>{operatorLinkCommand}</code> on the
          server prints a link.
        </p>
      )}
    </>
  )
  if (issuer === null) return form
  return (
    <>
      <ProviderLink issuer={issuer} query={query} />
      {passwords === 'on' && form}
      {passwords === 'break-glass' && (
        <details>
          <summary>Emergency: sign in with a password</summary>
          <p class="hint">Each use is reported to all operators.</p>
          {form}
        </details>
      )}
    </>
  )
}

/** The page without a session. `linkFailure`: a one-time link was rejected. */
export function SignInPage({ linkFailure }: { readonly linkFailure?: ApiFailure | undefined }) {
  useTitle('Sign in')
  return (
    <div class="setup">
      <header>
        <span class="brand">
          <Brand subtitle={`Gatehook ${releaseName}`} />
        </span>
      </header>
      <main id="main" class="narrow">
        <section class="card">
          <h1>Sign in</h1>
          {linkFailure && (
            <Notice tone="warn" word="Link not valid">
              The link was used before, or is older than 30 minutes. Create a new link:{' '}
              <code>{operatorLinkCommand}</code>
            </Notice>
          )}
          <p class="soft">The console of this installation, for operators.</p>
          <SignInWays />
        </section>
      </main>
    </div>
  )
}

/** Covers a page whose session has ended; the page stays as it is. */
export const SignInDialog = () => (
  <Dialog
    title="Sign in again"
    isRequired
    onClose={() => {
      isSessionOver.value = false
    }}
  >
    <p class="soft small">The session has ended. The page behind this form stays open.</p>
    <SignInWays email={session.value?.email ?? ''} query="prompt=none" />
  </Dialog>
)
