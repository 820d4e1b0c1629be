/** The first visit: creates the first operator, while the first steps tick by themselves. */
import { useState } from 'preact/hooks'
import { releaseName } from '../../branding.ts'
import { createOperatorCommand } from '../../commands.ts'
import { Button } from '../../parts/button.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Brand, useTitle } from '../../parts/frame.tsx'
import { Failed } from '../../parts/notices.tsx'
import { go } from '../../router.ts'
import { switchTheme } from '../../theme.ts'
import { useSend } from '../../use-send.ts'
import { createOperator, session } from '../session.ts'
import { FirstSteps } from './first-steps.tsx'

const MIN_LENGTH = 12
/** Selects the first page and its mode. */
const CONSOLE = '/console'

export function Page() {
  useTitle('Set up')
  const hasOperator = session.value?.operator !== null
  return (
    <div class="setup">
      <header>
        <span class="brand">
          <Brand subtitle={`Gatehook ${releaseName}`} />
        </span>
        <Button kind="quiet" size="tiny" class="right" onClick={switchTheme}>
          Theme
        </Button>
      </header>
      <main id="main" tabIndex={-1}>
        <section class="card">
          {hasOperator ? <Exists /> : <OperatorForm />}
          <p class="hint">
            Another operator later: <code>{createOperatorCommand}</code>
          </p>
        </section>
        <section class="hello" aria-labelledby="steps">
          <h2 id="steps">Meanwhile, in your terminal</h2>
          <FirstSteps />
        </section>
      </main>
    </div>
  )
}

const Exists = () => (
  <>
    <h1>The operator exists</h1>
    <p class="soft">{session.value?.email ?? 'The account'} signs in with its password.</p>
    <form>
      <Button kind="first" href={CONSOLE}>
        Open the console
      </Button>
    </form>
  </>
)

function OperatorForm() {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [isShort, setShort] = useState(false)
  const { isBusy, failure, messageOf, run } = useSend()
  const isTaken = failure?.code === 'conflict'
  const submit = async () => {
    const tooShort = [...password].length < MIN_LENGTH
    setShort(tooShort)
    if (tooShort) return
    await run(async () => {
      await createOperator(email, password)
      go(CONSOLE)
    })
  }
  const isFieldError = isTaken || messageOf('/email') || messageOf('/password')
  return (
    <>
      <h1>Create an operator</h1>
      <p class="soft">
        The link worked once. This browser is signed in for 12 hours; later you sign in with this
        account, and set up an authenticator app.
      </p>
      <Form method="post" onSubmit={submit}>
        {failure && !isFieldError && <Failed failure={failure} />}
        <Field
          label="E-mail"
          type="email"
          name="email"
          value={email}
          onInput={setEmail}
          autocomplete="username"
          autofocus
          required
          error={isTaken ? failure?.message : messageOf('/email')}
        />
        <Field
          label="Password"
          type="password"
          name="password"
          value={password}
          onInput={setPassword}
          autocomplete="new-password"
          required
          hint={`${MIN_LENGTH} characters or more. A sentence is a good password.`}
          error={isShort ? `It has fewer than ${MIN_LENGTH} characters.` : messageOf('/password')}
        />
        <Button kind="first" type="submit" busy={isBusy && 'Creating…'}>
          Open the console
        </Button>
      </Form>
    </>
  )
}
