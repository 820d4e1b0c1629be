/** The dialog that mails the contacts of a version's callers: text, recipients, sending. */
import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { count } from '../../format.ts'
import { useOperationForm } from '../../forms/form.ts'
import { FormFields } from '../../forms/form-fields.tsx'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Failed, Notice } from '../../parts/notices.tsx'
import { say } from '../../parts/toast.tsx'
import { versionPath } from './version-shapes.ts'
import type { VersionNotice } from './version-types.ts'

interface WriteToCallersProps {
  readonly version: string
  /** Undefined: all customers that call the version. */
  readonly customer: string | undefined
  readonly onClose: () => void
}

export function WriteToCallers({ version, customer, onClose }: WriteToCallersProps) {
  const [preview, setPreview] = useState<VersionNotice>()
  const form = useOperationForm({
    operation: 'send_version_notice',
    only: ['subject', 'text'],
    words: { text: { hint: 'Plain text. Each contact gets a mail of its own.' } },
  })
  const { isBusy, failure, run } = form.sending
  const post = async (isPreview: boolean) => {
    const body = { ...form.body(), preview: isPreview, ...(customer && { to: [customer] }) }
    return (await send<VersionNotice>('POST', `${versionPath(version)}/notices`, { body })).body
  }
  const advance = () =>
    run(async () => {
      if (!preview) return setPreview(await post(true))
      const { recipients } = await post(false)
      say(`The mail goes to ${count(recipients.length, 'customer')}.`)
      onClose()
    })
  const isSendable = preview === undefined || preview.recipients.length > 0
  return (
    <Dialog
      title={`Write to the callers of ${version}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={preview ? () => setPreview(undefined) : onClose}>
            {preview ? 'Back' : 'Cancel'}
          </Button>
          {isSendable && (
            <Button kind="first" busy={isBusy && 'One moment…'} onClick={advance}>
              {preview ? `Send to ${count(preview.recipients.length, 'customer')}` : 'Continue'}
            </Button>
          )}
        </>
      }
    >
      {preview ? <Recipients preview={preview} /> : <FormFields form={form} />}
      {failure && !form.isAtField && <Failed failure={failure} />}
    </Dialog>
  )
}

function Recipients({ preview }: { readonly preview: VersionNotice }) {
  const { recipients, without_contact: others } = preview
  return (
    <>
      {recipients.length > 0 && (
        <ul aria-label="Recipients">
          {recipients.map(({ customer, customer_name: name, contact }) => (
            <li key={customer}>
              {name}, {contact}
            </li>
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <Notice tone="warn" word="No contact">
          {count(others.length, 'customer')} without an e-mail address:{' '}
          {others.map(({ customer_name: name }) => name).join(', ')}. Set the contact on the page of
          the customer.
        </Notice>
      )}
      {recipients.length + others.length === 0 && <p>No customer calls this version.</p>}
    </>
  )
}
