/** The time of day, for messages below the name of their day. The hint has the whole time. */
import style from './chat.module.css'

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })

export function ClockTime({ at }: { at: string }) {
  const date = new Date(at)
  return (
    <time dateTime={at} title={`${whole.format(date)} · ${at}`} className={style['time']}>
      {clock.format(date)}
    </time>
  )
}
