/** Shows the turn that is open: beside the conversation if there is room, otherwise as a dialog. */
import { Group, Loader, Modal, Text } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { Suspense, lazy } from 'react'
import style from './chat.module.css'

const Panel = lazy(() => import('./turn-panel.tsx').then(({ TurnPanel: default_ }) => ({ default: default_ })))

type TurnBesideProps = { requestId: string; takesFocus: boolean; onClose: () => void }

export function TurnBeside({ requestId, takesFocus, onClose }: TurnBesideProps) {
  const hasRoom = useMediaQuery('(min-width: 75em)', undefined, { getInitialValueInEffect: false })
  const panel = (
    <Suspense
      fallback={
        <Group gap="xs" p="md" role="status">
          <Loader size="sm" aria-hidden />
          <Text c="dimmed">Loading the turn…</Text>
        </Group>
      }
    >
      <Panel requestId={requestId} takesFocus={takesFocus} onClose={onClose} />
    </Suspense>
  )
  if (hasRoom) return <div className={style['panel']}>{panel}</div>
  return (
    <Modal opened onClose={onClose} fullScreen withCloseButton={false} padding={0} attributes={{ content: { 'aria-label': 'Turn' } }}>
      {panel}
    </Modal>
  )
}
