/** The page without a session: it reveals the name of the service, and nothing else. */
import { useState } from 'preact/hooks'
import type { ApiFailure } from '../api.ts'
import { serviceName } from '../branding.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'
import { useTitle } from '../parts/frame.tsx'
import { Notice } from '../parts/notices.tsx'
import { useSend } from '../use-send.ts'
import { openSession } from './session.ts'

const sentenceOf = ({ code, message, retryAfterS }: ApiFailure): string => {
  if (code === 'customer_required') return 'Enter the id of your organization, too.'
  if (code === 'invalid_credentials') return 'The e-mail or the password is wrong.'
  return retryAfterS === undefined ? message : `${message} Retry in ${retryAfterS} s.`
}

export function Entrance({ linkFailure }: { readonly linkFailure?: ApiFailure | undefined }) {
  useTitle('Your integration')
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  // `?customer=cus_…&mode=test`: where a person signs in, if names are unique per customer.
  const [address] = useState(() => new URLSearchParams(location.search))
  const [customer, setCustomer] = useState(address.get('customer') ?? '')
  const { isBusy, failure, run } = useSend()
  const isPerCustomer = customer !== '' || failure?.code === 'customer_required'
  const place = customer === '' ? {} : { customer, mode: address.get('mode') ?? 'live' }
  return (
    <div class="setup">
      <header>
        <span class="brand">{serviceName}</span>
      </header>
      <main id="main" class="narrow">
        <section class="card">
          <h1>Your integration</h1>
          {linkFailure && (
            <Notice tone="warn" word="Link not valid" role="alert">
              The link was used before, or is older than 30 minutes. Ask {serviceName} for a new
              link.
            </Notice>
          )}
          {!linkFailure && (
            <p class="soft">Open the link that {serviceName} sent you, or sign in.</p>
          )}
          <Form onSubmit={() => run(() => openSession({ username, password, ...place }))}>
            {failure && (
              <Notice tone="bad" word="Not signed in" role="alert">
                {sentenceOf(failure)}
              </Notice>
            )}
            {isPerCustomer && (
              <Field
                label="Customer id"
                name="customer"
                value={customer}
                onInput={setCustomer}
                autocomplete="organization"
                required
              />
            )}
            <Field
              label="E-mail"
              name="username"
              value={username}
              onInput={setUsername}
              autocomplete="username"
              required
            />
            <Field
              label="Password"
              type="password"
              name="password"
              value={password}
              onInput={setPassword}
              autocomplete="current-password"
              required
            />
            <Button kind="first" type="submit" busy={isBusy && 'Signing in…'}>
              Sign in
            </Button>
          </Form>
        </section>
      </main>
    </div>
  )
}
