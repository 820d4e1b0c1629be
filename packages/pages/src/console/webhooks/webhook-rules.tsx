/** The signing secrets of an endpoint, and the rules that its deliveries follow. */
import { slowNow } from '../../clock.ts'
import { duration, instant, number, period } from '../../format.ts'
import { Button } from '../../parts/button.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Table } from '../../parts/table.tsx'
import { mayChange } from '../session.ts'
import type { WebhookHealth } from './webhook-shapes.ts'

interface SecretsProps {
  readonly health: WebhookHealth
  readonly onRotate: () => void
}

export const Secrets = ({ health, onRotate }: SecretsProps) => (
  <section class="section" aria-labelledby="secrets">
    <div class="bar">
      <h2 id="secrets">Signing secrets</h2>
      {mayChange('support') && (
        <Button size="tiny" class="right" onClick={onRotate}>
          Rotate…
        </Button>
      )}
    </div>
    <Table
      caption="Signing secrets"
      rows={health.secrets}
      rowKey={({ created_at: at, hint }) => `${at} ${hint}`}
      columns={[
        {
          name: 'hint',
          label: 'Secret',
          cell: ({ hint }) => <code>{hint ?? 'not readable'}</code>,
        },
        {
          name: 'created',
          label: 'Created',
          priority: 2,
          cell: ({ created_at: at }) => <time dateTime={at}>{instant(at)}</time>,
        },
        {
          name: 'signs',
          label: 'Signs',
          cell: ({ signs_until: until }) =>
            until === null
              ? 'from now on'
              : `for ${period(Math.max(0, Date.parse(until) - slowNow().value))} more`,
        },
      ]}
    />
  </section>
)

export const Rules = ({ health: { rules } }: { readonly health: WebhookHealth }) => (
  <section class="section" aria-labelledby="rules">
    <h2 id="rules">Rules of a delivery</h2>
    <Facts
      of={[
        [
          'Retries',
          `${rules.schedule_s.length + 1} attempts, after ` +
            rules.schedule_s.map((seconds) => period(seconds * 1000)).join(', '),
        ],
        ['Timeout', `${duration(rules.timeout_ms)}, with the body of the response`],
        [
          'Rate',
          rules.rate === null
            ? 'not limited, 20 at once for this endpoint'
            : `${number(rules.rate.limit)} per ${period(rules.rate.window_s * 1000)} (customer), ` +
              '20 at once for this endpoint',
        ],
      ]}
    />
  </section>
)
