/** The dialog that adds or changes an endpoint. The server verifies the URL before it stores it. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { send } from '../api.ts'
import { useLoaded } from '../loaded.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'
import { Failed } from '../parts/notices.tsx'
import { SecretDialog } from '../parts/secret-dialog.tsx'
import { say } from '../parts/toast.tsx'
import { useSend } from '../use-send.ts'

interface EndpointFormProps {
  /** The path of a new endpoint's list, or of the endpoint to change. */
  readonly path: string
  /** The values of the endpoint to change; undefined: a new one. */
  readonly row?:
    | {
        readonly url: string
        readonly events: readonly string[]
        readonly api_version: string
      }
    | undefined
  /** The event types of a new endpoint. */
  readonly events?: string | undefined
  /** Whether the reader is a customer, who cannot change the service. */
  readonly isCustomer?: boolean
  /** Fields or facts above those of the endpoint. */
  readonly children?: ComponentChildren
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Returns the names of the versions, newest first, from the index of the API. */
export function useVersionNames(): readonly string[] {
  const { data } = useLoaded<{ readonly versions: readonly string[] }>('/')
  return [...(data?.versions ?? [])].reverse()
}

export function EndpointForm(props: EndpointFormProps) {
  const { path, row, children, onClose, onDone } = props
  const versions = useVersionNames()
  const [url, setUrl] = useState(row?.url ?? '')
  const [events, setEvents] = useState(row?.events.join(' ') ?? props.events ?? '*')
  const [version, setVersion] = useState(row?.api_version ?? '')
  const [secret, setSecret] = useState<string>()
  const { isBusy, failure, messageOf, run } = useSend()
  const save = () =>
    run(async () => {
      const body = {
        url,
        events: events.split(/[\s,]+/).filter(Boolean),
        ...(version && { api_version: version }),
      }
      const reply = await send<{ secret?: string }>(row ? 'PATCH' : 'POST', path, { body })
      onDone()
      if (!row) return setSecret(reply.body.secret)
      say('The endpoint is changed.')
      onClose()
    })
  if (secret !== undefined) {
    return <NewSecret title="Endpoint added" secret={secret} onClose={onClose} />
  }
  const urlMessage = messageOf('/url')
  const isPlain = props.isCustomer && /^http:/i.test(url)
  const isFieldError = ['/url', '/events', '/api_version'].some(messageOf)
  return (
    <Dialog title={row ? 'Change the endpoint' : 'Add an endpoint'} onClose={onClose} isSheet>
      <Form onSubmit={save}>
        {failure && !isFieldError && <Failed failure={failure} />}
        {children}
        <Field
          label="URL"
          type="url"
          value={url}
          onInput={setUrl}
          placeholder="https://"
          hint="The server sends a signed ping to a new URL before it stores it."
          error={urlMessage && isPlain ? 'must begin with https://' : urlMessage}
          autofocus
          required
        />
        <Field
          label="Events"
          value={events}
          onInput={setEvents}
          hint="Types or families (thing.*), with a space between them. * is every type."
          error={messageOf('/events')}
          required
        />
        <Field
          label="Version of the payload"
          value={version}
          onInput={setVersion}
          options={[
            ...(row ? [] : [['', 'The newest'] as const]),
            ...withOwn(versions, row?.api_version).map((name) => [name, name] as const),
          ]}
          error={messageOf('/api_version')}
        />
        <Button kind="first" type="submit" busy={isBusy && 'Verifying the URL…'}>
          {row ? 'Save' : 'Add'}
        </Button>
      </Form>
    </Dialog>
  )
}

/** The version of the endpoint is an option before the others are loaded. */
const withOwn = (versions: readonly string[], own: string | undefined): readonly string[] =>
  own === undefined || versions.includes(own) ? versions : [own, ...versions]

interface NewSecretProps {
  readonly title: string
  readonly secret: string
  readonly onClose: () => void
}

/** Displays a signing secret once. */
export const NewSecret = ({ title, secret, onClose }: NewSecretProps) => (
  <SecretDialog
    title={title}
    label="Signing secret"
    value={secret}
    hint="Only this dialog displays it. The receiver verifies signatures with it."
    onClose={onClose}
  />
)
