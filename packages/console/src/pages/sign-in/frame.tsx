/** The frame of the pages without a session: the logo, one heading, and what to do. */
import { Center, Paper, Stack, Text, Title } from '@mantine/core'
import { useEffect } from 'react'
import type { ReactNode } from 'react'
import { Logo } from '../../show/logo.tsx'

/** `notice` is announced: why the page is shown. */
type FrameProps = { title: string; notice?: ReactNode; lead?: ReactNode; children: ReactNode }

export function Frame({ title, notice, lead, children }: FrameProps) {
  useEffect(() => {
    document.title = `${title} · Turnkeep`
  }, [title])
  return (
    <Center mih="100dvh" p="md" component="main">
      <Stack w="100%" maw={400} gap="lg">
        <Center>
          <Logo size={28} />
        </Center>
        <Paper withBorder p="xl" radius="lg" className="sign-in">
          <Stack>
            <div>
              <Title order={1} size="h3">
                {title}
              </Title>
              <Text role="status" size="sm" fw={500} mt={4}>
                {notice}
              </Text>
              {lead ? (
                <Text c="dimmed" size="sm" component="div">
                  {lead}
                </Text>
              ) : null}
            </div>
            {children}
          </Stack>
        </Paper>
      </Stack>
    </Center>
  )
}
