/** The dialog that adds or changes an endpoint of any customer, under the customer's authority. */
import { useState } from 'preact/hooks'
import { Field } from '../../parts/field.tsx'
import { EndpointForm } from '../../webhooks/endpoint-form.tsx'
import { customerName, customerOptions, DEFAULT_CUSTOMER } from '../customer-names.ts'
import { mode, customer as scopeCustomer } from '../scope.ts'
import { actingPath, type WebhookRow } from './webhook-shapes.ts'

interface WebhookFormProps {
  /** The endpoint to change; undefined: a new one. */
  readonly row?: WebhookRow
  /** The event types of a new endpoint. */
  readonly events?: string | undefined
  readonly onClose: () => void
  readonly onDone: () => void
}

export function WebhookForm({ row, ...props }: WebhookFormProps) {
  const [owner, setOwner] = useState(row?.customer ?? scopeCustomer.value ?? DEFAULT_CUSTOMER)
  const path = row ? actingPath(row) : `/admin/as/${owner}/${mode.value}/webhooks`
  return (
    <EndpointForm path={path} row={row} {...props}>
      {row ? (
        <p class="soft small">
          {customerName(row.customer)}, {row.mode}
        </p>
      ) : (
        <Field
          label={`Customer, ${mode.value} mode`}
          value={owner}
          onInput={setOwner}
          options={customerOptions(owner)}
        />
      )}
    </EndpointForm>
  )
}
