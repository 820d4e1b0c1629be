/** The dialog that adds or changes an endpoint. The server verifies the URL before it stores it. */
import type { ComponentChildren } from 'preact'
import type { Words } from '../forms/field-words.ts'
import { OperationDialog } from '../forms/form-dialog.tsx'
import { useLoaded } from '../loaded.ts'
import { say } from '../parts/toast.tsx'

interface EndpointFormProps {
  /** The path of a new endpoint's list, or of the endpoint to change. */
  readonly path: string
  /** The values of the endpoint to change; undefined: a new one. */
  readonly row?: object | undefined
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

/** The version of the endpoint is an option before the others are loaded. */
const withOwn = (versions: readonly string[], own: string): readonly string[] =>
  own === '' || versions.includes(own) ? versions : [own, ...versions]

function useVersionOptions(value: string, isNew: boolean) {
  const options = withOwn(useVersionNames(), value).map((name) => [name, name] as const)
  return isNew ? [['', 'The newest'] as const, ...options] : options
}

const wordsOf = (isNew: boolean, isCustomer: boolean): Words => ({
  url: {
    hint: 'The server sends a signed ping to a new URL before it stores it.',
    messageOf: (message, { url }) =>
      isCustomer && /^http:/i.test(url as string) && /https/.test(message)
        ? 'must begin with https://'
        : message,
  },
  events: {
    hint: 'Types or families (thing.*), with a space between them. * is every type.',
  },
  api_version: {
    label: 'Version of the payload',
    options: (value) => useVersionOptions(value, isNew),
  },
})

export function EndpointForm(props: EndpointFormProps) {
  const { path, row, events = '*', isCustomer = false, children, onClose, onDone } = props
  return (
    <OperationDialog<{ readonly secret?: string }>
      operation={row ? 'update_webhook' : 'create_webhook'}
      path={path}
      row={row}
      title={row ? 'Change the endpoint' : 'Add an endpoint'}
      verb={row ? 'Save' : 'Add'}
      busyVerb="Verifying the URL…"
      isSheet
      isInline
      omit={['active']}
      words={wordsOf(row === undefined, isCustomer)}
      values={{ events: [events] }}
      above={children}
      done={() => {
        onDone()
        if (!row) return
        say('The endpoint is changed.')
        onClose()
      }}
      secret={({ secret }) => (row ? undefined : signingSecret('Endpoint added', secret!))}
      onClose={onClose}
    />
  )
}

/** A signing secret for the dialog that displays it once. */
export const signingSecret = (title: string, value: string) => ({
  title,
  label: 'Signing secret',
  value,
  hint: 'Only this dialog displays it. The receiver verifies signatures with it.',
})
