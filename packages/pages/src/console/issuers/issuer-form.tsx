/** The sheet that trusts an issuer, or changes the keys and rules of one. */

import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Check, Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Failed, Part } from '../../parts/notices.tsx'
import { ScopeMatrix } from '../../parts/scope-matrix.tsx'
import { say } from '../../parts/toast.tsx'
import { go, keepQuery } from '../../router.ts'
import { useSend } from '../../use-send.ts'
import { customerOptions, DEFAULT_CUSTOMER } from '../customer-names.ts'
import { isInstallationScope } from '../installation-scopes.ts'
import type { ScopeRow } from '../keys/key-shapes.ts'
import type { OperationProps } from '../row-drawer.tsx'
import { mode, customer as scopeCustomer } from '../scope.ts'
import {
  bodyOfDraft,
  draftOfIssuer,
  draftOfPreset,
  emptyRule,
  type IssuerDraft,
  type NewRule,
  presets,
  type RuleDraft,
} from './issuer-drafts.ts'
import type { Issuer } from './issuer-types.ts'

export const pathOfIssuer = (id: string): string => `/admin/issuers/${encodeURIComponent(id)}`

const newRule = (): NewRule => ({
  customer: scopeCustomer.value ?? DEFAULT_CUSTOMER,
  mode: mode.value,
})

interface TrustIssuerProps {
  readonly onClose: () => void
  readonly onCreate: () => void
}

export function TrustIssuer({ onClose, onCreate }: TrustIssuerProps) {
  const [preset, setPreset] = useState(presets[0]!.label)
  const [draft, setDraft] = useState(() => draftOfPreset(preset, newRule()))
  const create = async (body: object) => {
    const reply = await send<Issuer>('POST', '/admin/issuers', { body })
    onCreate()
    onClose()
    go(keepQuery(`/console/issuers/${reply.body.id}`))
  }
  return (
    <Dialog title="Trust an issuer" onClose={onClose} isSheet>
      <IssuerForm
        draft={draft}
        onChange={setDraft}
        verb="Trust the issuer"
        submit={(members) => create({ issuer: draft.issuer.trim(), ...members })}
      >
        {(messageOf) => (
          <>
            <Field
              label="Kind"
              value={preset}
              onInput={(label) => {
                setPreset(label)
                setDraft(draftOfPreset(label, newRule()))
              }}
              options={presets.map(({ label }) => [label, label] as const)}
            />
            <Field
              label="Issuer"
              type="url"
              value={draft.issuer}
              onInput={(issuer) => setDraft({ ...draft, issuer })}
              hint="The claim iss of its tokens, character by character."
              placeholder="https://idp.example.com"
              error={messageOf('/issuer')}
              required
            />
          </>
        )}
      </IssuerForm>
    </Dialog>
  )
}

export function ChangeIssuer({ row, onClose, onDone }: OperationProps<Issuer>) {
  const [draft, setDraft] = useState(() => draftOfIssuer(row))
  const save = async (body: object) => {
    await send('PATCH', pathOfIssuer(row.id), { body })
    say(`${row.issuer} is changed.`)
    onDone()
    onClose()
  }
  return (
    <Dialog title={`Keys and rules of ${row.issuer}`} onClose={onClose} isSheet>
      <IssuerForm draft={draft} onChange={setDraft} verb="Save" submit={save} />
    </Dialog>
  )
}

type MessageOf = (pointer: string) => string | undefined

interface IssuerFormProps {
  readonly draft: IssuerDraft
  readonly onChange: (draft: IssuerDraft) => void
  readonly verb: string
  readonly submit: (body: object) => Promise<void>
  /** Fields before the others. */
  readonly children?: (messageOf: MessageOf) => preact.ComponentChildren
}

function IssuerForm({ draft, onChange, verb, submit, children }: IssuerFormProps) {
  const scopes = useLoaded<{ readonly data: readonly ScopeRow[] }>('/admin/scopes')
  const [keyFault, setKeyFault] = useState<string>()
  const { isBusy, failure, messageOf, run } = useSend()
  const set = (change: Partial<IssuerDraft>) => onChange({ ...draft, ...change })
  const setRules = (rules: readonly RuleDraft[]) => set({ rules })
  const sendDraft = () =>
    run(async () => {
      setKeyFault(undefined)
      let body: object
      try {
        body = bodyOfDraft(draft)
      } catch {
        return setKeyFault('These keys are no JSON.')
      }
      await submit(body)
    })
  return (
    <Form onSubmit={sendDraft}>
      {failure && <Failed failure={failure} />}
      {children?.(messageOf)}
      <KeyFields {...{ draft, set, messageOf, keyFault }} />
      <Part of={scopes} subject="scopes">
        {({ data }) =>
          draft.rules.map((rule, at) => (
            <RuleFields
              key={at}
              rule={rule}
              at={at}
              scopes={data}
              messageOf={(name) => messageOf(`/rules/${at}/${name}`)}
              onChange={(next) => setRules(draft.rules.with(at, next))}
              onRemove={() => setRules(draft.rules.toSpliced(at, 1))}
            />
          ))
        }
      </Part>
      <p>
        <Button size="tiny" onClick={() => setRules([...draft.rules, emptyRule(newRule())])}>
          Add a rule
        </Button>
      </p>
      <Button kind="first" type="submit" busy={isBusy && 'Saving…'}>
        {verb}
      </Button>
    </Form>
  )
}

interface KeyFieldsProps {
  readonly draft: IssuerDraft
  readonly set: (change: Partial<IssuerDraft>) => void
  readonly messageOf: MessageOf
  readonly keyFault: string | undefined
}

const KeyFields = ({ draft, set, messageOf, keyFault }: KeyFieldsProps) => (
  <>
    <Field
      label="Its keys"
      value={draft.keys}
      onInput={(keys) => set({ keys: keys as IssuerDraft['keys'] })}
      options={[
        ['metadata', 'where its metadata says'],
        ['uri', 'at a URL'],
        ['stored', 'stored here'],
      ]}
    />
    {draft.keys === 'uri' && (
      <Field
        label="URL of the keys"
        type="url"
        value={draft.jwksUri}
        onInput={(jwksUri) => set({ jwksUri })}
        error={messageOf('/jwks_uri')}
        required
      />
    )}
    {draft.keys === 'stored' && (
      <Field
        label="Public keys (JWK set)"
        value={draft.jwks}
        onInput={(jwks) => set({ jwks })}
        rows={4}
        placeholder={'{"keys": […]}'}
        error={keyFault ?? messageOf('/jwks')}
        required
      />
    )}
    <Check
      checked={draft.reuse}
      onChange={(reuse) => set({ reuse })}
      label="An assertion counts until it expires, instead of once"
    />
    <Field
      label="Further claims of the owner"
      value={draft.owners}
      onInput={(owners) => set({ owners })}
      hint="Claims that only the owner of a caller can have, beside sub, repository and others."
      error={messageOf('/owners')}
    />
  </>
)

interface RuleFieldsProps {
  readonly rule: RuleDraft
  readonly at: number
  readonly scopes: readonly ScopeRow[]
  readonly messageOf: (name: string) => string | undefined
  readonly onChange: (rule: RuleDraft) => void
  readonly onRemove: () => void
}

const PERSONS = [
  ['', 'a workload'],
  ['sub', 'a person, by a stored identity'],
  ['email', 'a person, by a verified address'],
] as const

function RuleFields({ rule, at, scopes, messageOf, onChange, onRemove }: RuleFieldsProps) {
  const set = (change: Partial<RuleDraft>) => onChange({ ...rule, ...change })
  const scopeFault = messageOf('scopes')
  return (
    <fieldset class="section">
      <legend>Rule {at + 1}</legend>
      <Field
        label="Claims"
        value={rule.match}
        onInput={(match) => set({ match })}
        rows={3}
        hint="One per line. Lines of one claim are alternatives. The first matching rule decides."
        placeholder="repository=acme/shop"
        error={messageOf('match')}
        required
      />
      <Field
        label="Acts for"
        value={rule.customer}
        onInput={(customer) => set({ customer })}
        options={customerOptions(rule.customer)}
        error={messageOf('customer')}
      />
      <Field
        label="Mode"
        value={rule.mode}
        onInput={(value) => set({ mode: value as RuleDraft['mode'] })}
        options={[
          ['live', 'Live'],
          ['test', 'Test'],
        ]}
      />
      <Field
        label="Caller"
        value={rule.person ?? ''}
        onInput={(person) => set({ person: (person || null) as RuleDraft['person'] })}
        options={PERSONS}
      />
      {rule.person === 'email' && (
        <Field
          label="Domains"
          value={rule.domains}
          onInput={(domains) => set({ domains })}
          hint="Empty: every domain."
          error={messageOf('domains')}
        />
      )}
      {rule.person === null && (
        <Field
          label="typ of its tokens"
          value={rule.typ}
          onInput={(typ) => set({ typ })}
          hint="Empty: none, or JWT."
          error={messageOf('typ')}
        />
      )}
      <ScopeMatrix
        legend={`Scopes of rule ${at + 1}`}
        scopes={scopes.filter(({ name }) => !isInstallationScope(name))}
        selected={rule.scopes}
        onChange={(selected) => set({ scopes: selected })}
      />
      {scopeFault && <p class="err">{scopeFault}</p>}
      <p>
        <Button size="tiny" kind="quiet" onClick={onRemove}>
          {`Remove rule ${at + 1}`}
        </Button>
      </p>
    </fieldset>
  )
}
