/** The members of a calendar in JSON and in a declaration. Pure. */
import { b } from '../../protocol/fields/members.ts'

const URL_MAX = 2000
const BROWNOUTS_MAX = 100

/** An http or https URL. Its characters cannot end the `<…>` of a `Link` header. */
const webUrl = b.url(URL_MAX).example('https://example.com/versions')

const brownout = b.object({
  start: b
    .instant()
    .describe('The first instant that is not served.')
    .example('2099-05-01T09:30:00.000Z'),
  end: b
    .instant()
    .describe('The first instant that is served again.')
    .example('2099-05-01T10:30:00.000Z'),
})

/** The members of §13. `null` removes an announcement. */
export const calendarMembers = {
  deprecated_at: b.instant().nullable().optional(),
  sunset_at: b.instant().nullable().optional().example('2099-06-01T09:30:00.000Z'),
  successor: b.line(20).nullable().optional(),
  migration_guide: webUrl.nullable().optional(),
  sunset_link: webUrl.nullable().optional().describe('A page about the sunset.'),
  brownouts: b
    .set(brownout, { max: BROWNOUTS_MAX })
    .nullable()
    .optional()
    .describe('Announced windows in which the version is not served.'),
}
