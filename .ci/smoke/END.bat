@echo ^<result^>%RAYMOND_STATE% ran^</result^>
