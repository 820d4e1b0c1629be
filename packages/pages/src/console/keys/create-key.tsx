/** The sheet that creates a key and displays it once. */
import { useEffect, useState } from 'preact/hooks'
import { withQuery } from '../../api.ts'
import { every, inDays } from '../../clock.ts'
import { timeOfDay } from '../../format.ts'
import type { Draft } from '../../forms/draft.ts'
import type { Words } from '../../forms/field-words.ts'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Check } from '../../parts/field.tsx'
import { Notice } from '../../parts/notices.tsx'
import { Secret } from '../../parts/secret.tsx'
import { State } from '../../parts/state.tsx'
import { customerName, DEFAULT_CUSTOMER } from '../customer-names.ts'
import { isInstallationScope } from '../installation-scopes.ts'
import type { CreationProps } from '../list-screen.tsx'
import { ConsoleDialog } from '../operation-forms.tsx'
import { customer as scopeCustomer, mode as scopeMode } from '../scope.ts'
import { mayChange } from '../session.ts'
import { useKeyProbePath } from '../versions.ts'
import type { KeyRow, NewKey } from './key-shapes.ts'

const LIFETIMES = [
  ['365', 'In 1 year'],
  ['90', 'In 90 days'],
  ['', 'Never'],
] as const

/** Live keys of the default customer can administer the installation. */
const canAdminister = ({ customer, mode }: Draft): boolean =>
  customer === DEFAULT_CUSTOMER && mode === 'live' && mayChange('administrator')

const words: Words = {
  name: { hint: 'The program and the place where it stores the key.' },
  customer: {},
  mode: {},
  scopes: { permits: (scope, draft) => !isInstallationScope(scope) || canAdminister(draft) },
  expires_at: {
    label: 'Expires',
    kind: 'text',
    toJson: inDays,
    hint: null,
    options: () => LIFETIMES,
  },
  api_version: {},
}

export function CreateKey({ onClose, onCreate }: CreationProps) {
  const [created, setCreated] = useState<NewKey>()
  if (created) return <NewKeySheet created={created} onClose={onClose} />
  return (
    <ConsoleDialog<NewKey>
      operation="create_key"
      path="/admin/keys"
      title="Create a key"
      verb="Create the key"
      busyVerb="Creating…"
      isSheet
      isInline
      words={words}
      omit={['sha256', 'hint']}
      values={{
        customer: scopeCustomer.value ?? DEFAULT_CUSTOMER,
        mode: scopeMode.value,
        expires_at: '365',
      }}
      done={(key) => {
        setCreated(key)
        onCreate()
      }}
      onClose={onClose}
    />
  )
}

interface NewKeySheetProps {
  readonly created: NewKey
  readonly onClose: () => void
}

/** Displays a key once. It closes without the key only after a second decision. */
function NewKeySheet({ created, onClose }: NewKeySheetProps) {
  const [isStored, setStored] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const mayClose = () => {
    setAsking(!isStored)
    return isStored
  }
  return (
    <Dialog title={created.name} onClose={onClose} mayClose={mayClose} isSheet>
      {isAsking && !isStored && (
        <Notice
          tone="warn"
          word="Not stored"
          role="alert"
          actions={
            <Button size="tiny" kind="danger" onClick={onClose}>
              Close anyway
            </Button>
          }
        >
          The server cannot display this key again. Store it first.
        </Notice>
      )}
      <NewKeyView created={created} isStored={isStored} onStore={setStored} onClose={onClose} />
    </Dialog>
  )
}

interface NewKeyViewProps extends NewKeySheetProps {
  readonly isStored: boolean
  readonly onStore: (isStored: boolean) => void
}

function NewKeyView({ created, isStored, onStore, onClose }: NewKeyViewProps) {
  const path = useKeyProbePath()
  const command = (key: string) => `curl -H "X-API-Key: ${key}" "${location.origin}${path}"`
  const { key } = created
  return (
    <>
      <Secret
        label="Key"
        value={key}
        hint="Only this page displays the key. The server stores its hash."
      />
      <p class="label">Try it</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long command scrolls */}
      <pre tabIndex={0}>{command(created.hint)}</pre>
      <Copy text={command(key)} subject="command with the key" />
      <Facts
        of={[
          ['Customer', `${customerName(created.customer)}, ${created.mode}`],
          ['Scopes', created.scopes.join(' ') || 'none', 'mono'],
          [
            'First request',
            <span role="status">
              <FirstUse id={created.id} />
            </span>,
          ],
        ]}
      />
      <Check label="I have stored it" checked={isStored} onChange={onStore} />
      <Button kind="first" disabled={!isStored} onClick={onClose}>
        Done
      </Button>
    </>
  )
}

const POLL_MS = 3000

/** Waits for the first request that uses the key. */
function FirstUse({ id }: { readonly id: string }) {
  const path = withQuery(`/admin/keys/${id}`)
  const { data, reload } = useLoaded<KeyRow>(path)
  const at = data?.last_used_at
  useEffect(() => (at ? undefined : every(POLL_MS, reload)), [at, reload])
  if (!at) return <span class="soft">Not yet. This line changes with the first request.</span>
  return <State tone="ok">Arrived at {timeOfDay(at)} UTC</State>
}
